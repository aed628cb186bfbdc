#include "common.h"

SEC("xdp") int reads_beyond(struct xdp_md *ctx)
{
	__u8 *data = (void *)(long)ctx->data;

	return data[3]; /* no bounds check */
}
