#include "../common.h"

static long (*bpf_skb_pull_data)(void *skb, __u32 length) = (void *)BPF_FUNC_skb_pull_data;

SEC("xdp") int program(struct xdp_md *ctx)
{
	return bpf_skb_pull_data(ctx, 64); /* not for XDP */
}
