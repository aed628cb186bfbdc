// As examples/router.lua.
#include "forward.h"

SEC("xdp") int router(struct xdp_md *ctx)
{
	return forward_frame(ctx, 0);
}

char _license[] SEC("license") = "GPL";
