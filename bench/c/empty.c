// The floor: what an XDP program costs that does nothing.
#include "frame.h"

SEC("xdp") int empty(struct xdp_md *ctx)
{
	return XDP_PASS;
}

char _license[] SEC("license") = "GPL";
