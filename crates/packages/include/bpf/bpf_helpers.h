/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The kernel's helpers that XDP programs call, and the words with which maps and sections are written: the part of <bpf/bpf_helpers.h> of
 * libbpf that packages use. A helper is a number (enum bpf_func_id, include/uapi/linux/bpf.h), called as if it were an address.
 */
#ifndef MOONHOOK_BPF_HELPERS_H
#define MOONHOOK_BPF_HELPERS_H

#include <linux/bpf.h>

#define SEC(name) __attribute__((section(name), used))
#define __uint(name, val) int(*name)[val]
#define __type(name, val) typeof(val) *name
#define __array(name, val) typeof(val) *name[]

/* <linux/stddef.h> takes it for a wish. Loaders rely on it: they end in a function that is inlined in them. */
#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#ifndef __noinline
#define __noinline __attribute__((noinline))
#endif
#ifndef __weak
#define __weak __attribute__((weak))
#endif
#ifndef __hidden
#define __hidden __attribute__((visibility("hidden")))
#endif
#ifndef NULL
#define NULL ((void *)0)
#endif
#ifndef offsetof
#define offsetof(type, member) __builtin_offsetof(type, member)
#endif
#ifndef barrier
#define barrier() __asm__ volatile("" ::: "memory")
#endif

static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*const bpf_map_update_elem)(void *map, const void *key, const void *value, __u64 flags) = (void *)2;
static long (*const bpf_map_delete_elem)(void *map, const void *key) = (void *)3;
static __u64 (*const bpf_ktime_get_ns)(void) = (void *)5;
static long (*const bpf_trace_printk)(const char *format, __u32 length, ...) = (void *)6;
static __u32 (*const bpf_get_prandom_u32)(void) = (void *)7;
static __u32 (*const bpf_get_smp_processor_id)(void) = (void *)8;
static long (*const bpf_tail_call)(void *ctx, void *programs, __u32 index) = (void *)12;
static long (*const bpf_redirect)(__u32 ifindex, __u64 flags) = (void *)23;
static long (*const bpf_perf_event_output)(void *ctx, void *map, __u64 flags, void *data, __u64 length) = (void *)25;
static __s64 (*const bpf_csum_diff)(__be32 *from, __u32 from_length, __be32 *to, __u32 to_length, __wsum seed) = (void *)28;
static long (*const bpf_xdp_adjust_head)(struct xdp_md *ctx, int delta) = (void *)44;
static long (*const bpf_redirect_map)(void *map, __u64 key, __u64 flags) = (void *)51;
static long (*const bpf_xdp_adjust_meta)(struct xdp_md *ctx, int delta) = (void *)54;
static long (*const bpf_xdp_adjust_tail)(struct xdp_md *ctx, int delta) = (void *)65;
static long (*const bpf_fib_lookup)(void *ctx, struct bpf_fib_lookup *params, int length, __u32 flags) = (void *)69;
static long (*const bpf_spin_lock)(struct bpf_spin_lock *lock) = (void *)93;
static long (*const bpf_spin_unlock)(struct bpf_spin_lock *lock) = (void *)94;
static __u64 (*const bpf_jiffies64)(void) = (void *)118;
static __u64 (*const bpf_ktime_get_boot_ns)(void) = (void *)125;
static long (*const bpf_ringbuf_output)(void *ring, void *data, __u64 length, __u64 flags) = (void *)130;
static void *(*const bpf_ringbuf_reserve)(void *ring, __u64 length, __u64 flags) = (void *)131;
static void (*const bpf_ringbuf_submit)(void *data, __u64 flags) = (void *)132;
static void (*const bpf_ringbuf_discard)(void *data, __u64 flags) = (void *)133;
static __u64 (*const bpf_ktime_get_coarse_ns)(void) = (void *)160;
static long (*const bpf_loop)(__u32 count, void *turn, void *data, __u64 flags) = (void *)181;
static long (*const bpf_xdp_load_bytes)(struct xdp_md *ctx, __u32 offset, void *to, __u32 length) = (void *)189;
static long (*const bpf_xdp_store_bytes)(struct xdp_md *ctx, __u32 offset, void *from, __u32 length) = (void *)190;
static __u64 (*const bpf_ktime_get_tai_ns)(void) = (void *)208;

/* At most three values behind the format. Formats are constants of the object, not bytes of the stack, which chains share. */
#ifndef bpf_printk
#define bpf_printk(format, ...)                                                          \
	({                                                                               \
		static const char moonhook_format[] = format;                            \
		bpf_trace_printk(moonhook_format, sizeof(moonhook_format), ##__VA_ARGS__); \
	})
#endif

#endif
