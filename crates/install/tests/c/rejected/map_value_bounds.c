#include "../common.h"

__u64 table[8] SEC(".data.table");

SEC("xdp") int program(struct xdp_md *ctx)
{
	__u32 queue = ctx->rx_queue_index;

	return table[queue & 15]; /* 15 is beyond 7 */
}
