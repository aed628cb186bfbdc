#include "../common.h"

__attribute__((noinline)) int length(struct xdp_md *ctx)
{
	__u8 *data = (void *)(long)ctx->data;

	return data[0]; /* in a function of its own */
}

SEC("xdp") int program(struct xdp_md *ctx)
{
	return length(ctx);
}
