/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What programs and loaders of HIKe packages are compiled with, as they are. Given with `-include`, it takes the place of HIKe's own headers:
 * the words that programs use are here, and the virtual machine is not.
 *
 * What an object has in the end:
 *
 * A program P (`HIKE_PROG(P) { … } EXPORT_HIKE_PROG(P);`) is a global function in `.text`
 *
 *     int P(struct xdp_md *ctx, __u64 *ret, __u64 a2, __u64 a3, __u64 a4);
 *
 * which gives a verdict (0 to 4) that ends the packet, or another number, after which the chain goes on. `*ret` is then what the chain
 * gets: HVM_RET, or 0 if the program has not set it. `ret` is tagged `arg:nonnull`, with which the kernel takes P as a global function.
 *
 * A loader is a global function outside of `.text` which takes a context: `__section("hike_classifier") int F(struct xdp_md *ctx)`. The
 * name of its section stays as it is. Where it calls `hike_chain_boostrap`, it ends with the verdict of
 *
 *     extern int moonhook_chain(struct xdp_md *ctx, __u32 chain);
 *
 * which the object lacks and whoever links it supplies. A number below 0 lets the loader go on, as HIKe's do where they cannot begin a chain.
 * Moonhook gives none: with that call the loader has ended, and the packet of a number that no chain has is aborted (XDP_ABORTED).
 *
 * What is exported is said by the types of variables in the section `.hike.exports`, for whoever reads BTF; they have no content:
 *
 *     moonhook_program_P     a pointer to a function: of the program's number (__u32) and of the arguments that are declared
 *     moonhook_constant_C    a structure: `low` and `high` point to arrays of as many bytes as the halves of the constant say
 *     moonhook_map_P_M       a structure: member `program` is a structure with one member, of the name P; `map` the same of M
 */
#ifndef MOONHOOK_HIKE_H
#define MOONHOOK_HIKE_H

/* HIKe's own headers, wherever they lie, find themselves included. */
#define _HIKE_VM_H
#define _HIKE_VM_COMMON_H
#define _MAP_H
#define _COMPILER_H

#include <stddef.h>
#include <linux/types.h>
#include <linux/errno.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>

/* ---- Words of the compiler and of C ---- */

#define MOONHOOK_JOIN_1(a) a
#define MOONHOOK_JOIN_2(a, b) a##b
#define MOONHOOK_JOIN_3(a, b, c) a##b##c
#define MOONHOOK_JOIN_4(a, b, c, d) a##b##c##d
#define MOONHOOK_JOIN_5(a, b, c, d, e) a##b##c##d##e
#define MOONHOOK_JOIN_6(a, b, c, d, e, f) a##b##c##d##e##f
#define EVAL_CAT_1(a) MOONHOOK_JOIN_1(a)
#define EVAL_CAT_2(a, b) MOONHOOK_JOIN_2(a, b)
#define EVAL_CAT_3(a, b, c) MOONHOOK_JOIN_3(a, b, c)
#define EVAL_CAT_4(a, b, c, d) MOONHOOK_JOIN_4(a, b, c, d)
#define EVAL_CAT_5(a, b, c, d, e) MOONHOOK_JOIN_5(a, b, c, d, e)
#define EVAL_CAT_6(a, b, c, d, e, f) MOONHOOK_JOIN_6(a, b, c, d, e, f)

#define __stringify(text) #text
#define stringify(text) __stringify(text)

#ifndef bool
#define bool _Bool
#define true 1
#define false 0
#endif

#define BIT(nr) (1UL << (nr))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define memcpy(to, from, length) __builtin_memcpy((to), (from), (length))
#define memmove(to, from, length) __builtin_memmove((to), (from), (length))
#define memset(to, byte, length) __builtin_memset((to), (byte), (length))
#define build_bug_on(wrong) ((void)sizeof(char[(wrong) ? -1 : 1]))

#ifndef __maybe_unused
#define __maybe_unused __attribute__((unused))
#endif

#define bpf_htonll(x) bpf_cpu_to_be64(x)
#define bpf_ntohll(x) bpf_be64_to_cpu(x)
#define cpu_to_be16(x) moonhook_be(16, x)
#define cpu_to_be32(x) moonhook_be(32, x)
#define cpu_to_be64(x) moonhook_be(64, x)
#define cpu_to_le16(x) moonhook_le(16, x)
#define cpu_to_le32(x) moonhook_le(32, x)
#define cpu_to_le64(x) moonhook_le(64, x)

/* ---- What the compiler must not know ---- */

#define barrier_data(value) __asm__ volatile("" : : "r"(value) : "memory")

/* A copy in a register of which the compiler knows nothing. Through memory, as a volatile variable would go, the verifier forgets what the
 * value is bounded by, and refuses the packet access behind it. */
#define READ_ONCE(x)                                        \
	({                                                  \
		typeof(x) moonhook_copy = (x);              \
		__asm__ volatile("" : "+r"(moonhook_copy)); \
		moonhook_copy;                              \
	})

#define WRITE_ONCE(x, value)                                        \
	({                                                          \
		typeof(x) moonhook_value = (value);                 \
		*(volatile typeof(x) *)&(x) = moonhook_value;       \
		barrier();                                          \
		moonhook_value;                                     \
	})

/* HIKe calls a helper here, for verifiers of Linux 5.1 and before to compare states. */
#define relax_verifier() barrier()
#define relax_verifier_vc() barrier()

/* ---- Sections, maps ---- */

#define __section(name) __attribute__((section(name), used))
#define __section_tail(id, key) __section(stringify(id) "/" stringify(key))

#define HIKE_VM_BTF_MAP_NAME(name) EVAL_CAT_2(____btf_map_, name)

/* A map as libbpf and the kernel have it defined, by BTF. */
#define bpf_map(name, _type, type_key, type_value, entries)     \
	struct {                                                \
		__uint(type, EVAL_CAT_2(BPF_MAP_TYPE_, _type)); \
		__uint(max_entries, (entries));                 \
		__type(key, type_key);                          \
		__type(value, type_value);                      \
	} name __section(".maps")

/* ---- Exports ---- */

#define MOONHOOK_EXPORT static __attribute__((section(".hike.exports"), used))

#define MOONHOOK_EXPORT_PROGRAM(name, ...) \
	MOONHOOK_EXPORT __u64 (*EVAL_CAT_2(moonhook_program_, name))(__u32, ##__VA_ARGS__)

#define MOONHOOK_EXPORT_MAP(program_, map_)          \
	MOONHOOK_EXPORT struct {                     \
		struct {                             \
			char program_;               \
		} program;                           \
		struct {                             \
			char map_;                   \
		} map;                               \
	} EVAL_CAT_4(moonhook_map_, program_, _, map_)

#define EXPORT_HIKE_PROG_MAP(name, map) MOONHOOK_EXPORT_MAP(name, map)
/* The same of a loader. */
#define EXPORT_HIKE_MAP(name, map) MOONHOOK_EXPORT_MAP(name, map)

/* Not through another macro, for the name is that of a macro itself. */
#define EXPORT_HIKE_CONST(name)                              \
	MOONHOOK_EXPORT struct {                             \
		char (*low)[(__u64)(name) & 0xffffffff];     \
		char (*high)[(__u64)(name) >> 32];           \
	} moonhook_constant_##name

/* ---- Verdicts ---- */

enum {
	HIKE_XDP_ABORTED = XDP_ABORTED,
	HIKE_XDP_DROP = XDP_DROP,
	HIKE_XDP_PASS = XDP_PASS,
	HIKE_XDP_TX = XDP_TX,
	HIKE_XDP_REDIRECT = XDP_REDIRECT,
	/* None: the chain goes on. */
	HIKE_XDP_VM = 104,
};

/* ---- Programs ---- */

/* Registers of the chain that programs see: 0 is the result, 1 the program's number, which is 0 here, 2 to 4 are arguments. They are
 * variables of the function in the end, for its body is inlined. */
struct moonhook_registers {
	__u64 reg_0, reg_1, reg_2, reg_3, reg_4;
};

#define _I_REG(number) (moonhook_registers->reg_##number)
#define _I_RREG(number) (&_I_REG(number))
#define _I_ARG(number) _I_REG(number)

#define HVM_ARG0 _I_REG(0)
#define HVM_ARG1 _I_REG(1)
#define HVM_ARG2 _I_REG(2)
#define HVM_ARG3 _I_REG(3)
#define HVM_ARG4 _I_REG(4)
#define HVM_RET HVM_ARG0

#define HVM_PROG_RET(code, action) \
	({                         \
		HVM_RET = (code);  \
		(action);          \
	})

#define __to_u32(value) ((__u32)(value))
#define __to_u64(value) ((__u64)(value))
#define HVM_REG_TO_u8(value) ((__u8)(value))
#define HVM_REG_TO_u16(value) ((__u16)(value))
#define HVM_REG_TO_u32(value) ((__u32)(value))
#define HVM_REG_TO_u64(value) ((__u64)(value))

#define MOONHOOK_BODY(name) EVAL_CAT_2(moonhook_body_, name)

#define HIKE_PROG(name) \
	static __always_inline int MOONHOOK_BODY(name)(struct xdp_md *ctx, struct moonhook_registers *moonhook_registers)

#define HIKE_VM_PROG_PROTO(name)                                                                                \
	int name(struct xdp_md *ctx, __u64 *ret __attribute__((btf_decl_tag("arg:nonnull"))), __u64 a2, __u64 a3, \
		 __u64 a4)

#define MOONHOOK_PROGRAM(name)                                                                     \
	HIKE_VM_PROG_PROTO(name)                                                                   \
	{                                                                                          \
		struct moonhook_registers registers = { .reg_2 = a2, .reg_3 = a3, .reg_4 = a4 };    \
		int verdict = MOONHOOK_BODY(name)(ctx, &registers);                                \
                                                                                                   \
		*ret = registers.reg_0;                                                            \
		return verdict;                                                                    \
	}

#define EXPORT_HIKE_PROG(name)  \
	MOONHOOK_PROGRAM(name)  \
	MOONHOOK_EXPORT_PROGRAM(name)
#define EXPORT_HIKE_PROG_1(name) EXPORT_HIKE_PROG(name)
#define EXPORT_HIKE_PROG_2(name, t1, a1) \
	MOONHOOK_PROGRAM(name)           \
	MOONHOOK_EXPORT_PROGRAM(name, t1 a1)
#define EXPORT_HIKE_PROG_3(name, t1, a1, t2, a2) \
	MOONHOOK_PROGRAM(name)                   \
	MOONHOOK_EXPORT_PROGRAM(name, t1 a1, t2 a2)
#define EXPORT_HIKE_PROG_4(name, t1, a1, t2, a2, t3, a3) \
	MOONHOOK_PROGRAM(name)                           \
	MOONHOOK_EXPORT_PROGRAM(name, t1 a1, t2 a2, t3 a3)

/* ---- Memory that all programs of a packet have in common ---- */

/* Of how many bits offsets in `__hvm_data` are, for who moves memory there. */
#define HIKE_MEM_BANK_PCPU_SHARED_HDATA_BIT 12

struct hike_shared_mem_data {
	/* A cursor (`struct pkt_info`) first, then free. */
	__u8 data[4096];
	/* Of HIKe's functions. */
	__u8 __hvm_data[4095];
	__u8 reserved;
	/* Of whoever links chains. */
	__u64 moonhook_verdict;
};

/* Weak: all objects have it, and a chain has it once. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct hike_shared_mem_data);
} hvm_shmem_map __weak SEC(".maps");

static __always_inline void *moonhook_shared(void)
{
	const __u32 first = 0;

	return bpf_map_lookup_elem(&hvm_shmem_map, &first);
}

#define hike_pcpu_shmem() moonhook_shared()

static __always_inline void *moonhook_shared_object(unsigned long offset, unsigned long length)
{
	unsigned char *start = moonhook_shared();
	unsigned char *object;

	if (!start)
		return NULL;
	object = start + offset;
	/* Else the compiler compares numbers, of which the verifier learns nothing about the address. */
	barrier_data(object);
	if (object + length > start + offsetof(struct hike_shared_mem_data, moonhook_verdict))
		return NULL;
	return object;
}

/* The object of that type at that offset; NULL if it would not lie within. */
#define hike_pcpu_shmem_obj(offset, type) ((type *)moonhook_shared_object((offset), sizeof(type)))

/* ---- Loaders ---- */

extern int moonhook_chain(struct xdp_md *ctx, __u32 chain);

/* In HIKe a chain that is begun never comes back to its loader: what is behind this call is for chains that cannot be begun. So with a
 * verdict the loader ends here, from however many functions that are inlined in it; with a number below 0 it goes on. Compilers do not
 * know: told that this does not come back, those from 21 on call a function of the kernel there that older kernels lack. */
static __always_inline int hike_chain_boostrap(struct xdp_md *ctx, __u32 chain)
{
	int verdict = moonhook_chain(ctx, chain);

	__asm__ volatile("if %[verdict] s< 0 goto +2\n\t"
			 "w0 = %[verdict]\n\t"
			 "exit"
			 :
			 : [verdict] "w"(verdict)
			 : "r0", "memory");
	return verdict;
}

/* ---- Printing, into the kernel's trace pipe ---- */

#define HIKE_PRINT_LEVEL_EMERG 0
#define HIKE_PRINT_LEVEL_ALERT 1
#define HIKE_PRINT_LEVEL_CRIT 2
#define HIKE_PRINT_LEVEL_ERR 3
#define HIKE_PRINT_LEVEL_WARNING 4
#define HIKE_PRINT_LEVEL_NOTICE 5
#define HIKE_PRINT_LEVEL_INFO 6
#define HIKE_PRINT_LEVEL_DEBUG 7

/* Programs define these as macros after this header, or not at all: then they mean these constants. */
enum { HIKE_DEBUG = 0, HIKE_PRINT_LEVEL = HIKE_PRINT_LEVEL_WARNING };

/* With `-DMOONHOOK_QUIET=1`, nothing is printed. */
#ifndef MOONHOOK_QUIET
#define MOONHOOK_QUIET 0
#endif

#define MOONHOOK_PRINT(is_wanted, ...)            \
	do {                                      \
		if ((is_wanted) && !MOONHOOK_QUIET) \
			bpf_printk(__VA_ARGS__);  \
	} while (0)

/* With the name of the program in front, or that of one without a name. */
#define MOONHOOK_PRINT_NAMED(is_wanted, level, nameless, ...)                                                        \
	do {                                                                                                         \
		if (__builtin_strcmp(stringify(HIKE_PROG_NAME), "HIKE" "_PROG_NAME"))                                \
			MOONHOOK_PRINT(is_wanted, level stringify(HIKE_PROG_NAME) ": " __VA_ARGS__);                 \
		else                                                                                                 \
			MOONHOOK_PRINT(is_wanted, level nameless __VA_ARGS__);                                       \
	} while (0)

#define DEBUG_PRINT(...) MOONHOOK_PRINT(HIKE_DEBUG == 1, __VA_ARGS__)
#define DEBUG_HKPRG_PRINT(...) MOONHOOK_PRINT_NAMED(HIKE_DEBUG == 1, "", "", __VA_ARGS__)

#define MOONHOOK_PRINT_LEVEL(level, ...) \
	MOONHOOK_PRINT_NAMED(HIKE_PRINT_LEVEL_##level <= HIKE_PRINT_LEVEL, #level ": ", "u: ", __VA_ARGS__)

#define hike_pr_emerg(...) MOONHOOK_PRINT_LEVEL(EMERG, __VA_ARGS__)
#define hike_pr_alert(...) MOONHOOK_PRINT_LEVEL(ALERT, __VA_ARGS__)
#define hike_pr_crit(...) MOONHOOK_PRINT_LEVEL(CRIT, __VA_ARGS__)
#define hike_pr_err(...) MOONHOOK_PRINT_LEVEL(ERR, __VA_ARGS__)
#define hike_pr_warn(...) MOONHOOK_PRINT_LEVEL(WARNING, __VA_ARGS__)
#define hike_pr_notice(...) MOONHOOK_PRINT_LEVEL(NOTICE, __VA_ARGS__)
#define hike_pr_info(...) MOONHOOK_PRINT_LEVEL(INFO, __VA_ARGS__)
#define hike_pr_debug(...) MOONHOOK_PRINT_LEVEL(DEBUG, __VA_ARGS__)

#endif
