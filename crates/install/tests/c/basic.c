#include "common.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, __u64[2]);
} counters SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16);
	__type(key, __u32);
	__type(value, __u64);
} limits SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} ring SEC(".maps");

__u64 seen SEC(".data.state") = 40;
const volatile __u32 magic SEC(".rodata.constants") = 0x11223344;

/* Counts frames and their bytes, reports each first byte, drops frames that start with 0xff. */
SEC("xdp") int count(struct xdp_md *ctx)
{
	__u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 key = 1;
	__u64 *value = bpf_map_lookup_elem(&counters, &key);

	if (data + 14 > end)
		return XDP_ABORTED;
	if (value) {
		value[0] += 1;
		value[1] += end - data;
	}
	__sync_fetch_and_add(&seen, 2);
	__u8 first = data[0];
	bpf_ringbuf_output(&ring, &first, 1, 0);
	data[1] = (__u8)magic;
	return first == 0xff ? XDP_DROP : XDP_PASS;
}

/* Puts 8 bytes before the frame. */
SEC("xdp") int grow(struct xdp_md *ctx)
{
	return bpf_xdp_adjust_head(ctx, -8) ? XDP_ABORTED : XDP_TX;
}

/* The verdict is whether data..data_end holds as much as the context says, modulo 256. */
SEC("xdp") int linear(struct xdp_md *ctx)
{
	return (ctx->data_end - ctx->data) >> 4;
}
