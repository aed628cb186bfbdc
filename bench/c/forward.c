// As bench/scripts/forward.lua: a frame may come again and again.
#include "forward.h"

SEC("xdp") int forward(struct xdp_md *ctx)
{
	return forward_frame(ctx, 63);
}

char _license[] SEC("license") = "GPL";
