#include "../common.h"

SEC("xdp") int program(struct xdp_md *ctx)
{
	__u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	if (data + 14 > end)
		return XDP_PASS;
	return data[14]; /* one byte too far */
}
