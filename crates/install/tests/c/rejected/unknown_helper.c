#include "../common.h"

static long (*nothing)(void) = (void *)9999;

SEC("xdp") int program(struct xdp_md *ctx)
{
	return nothing(); /* no such helper */
}
