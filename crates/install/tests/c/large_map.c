#include "common.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 0x08000000);
	__type(key, __u32);
	__type(value, __u64[4096]);
} far_too_large SEC(".maps");

SEC("xdp") int program(struct xdp_md *ctx)
{
	__u32 key = ctx->rx_queue_index;

	return bpf_map_lookup_elem(&far_too_large, &key) ? XDP_PASS : XDP_DROP;
}
