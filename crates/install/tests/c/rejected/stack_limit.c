#include "../common.h"

static __attribute__((noinline)) int inner(struct xdp_md *ctx)
{
	volatile __u64 buffer[40] = {};

	return buffer[ctx->rx_queue_index & 3]; /* the callee's frame */
}

SEC("xdp") int program(struct xdp_md *ctx)
{
	volatile __u64 buffer[40] = {};

	return inner(ctx) + buffer[3];
}
