#include "common.h"

SEC("xdp") int drop_all(struct xdp_md *ctx)
{
	return XDP_DROP;
}
