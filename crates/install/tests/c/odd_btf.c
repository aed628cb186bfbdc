#include "common.h"

/* The kernel refuses BTF with an array type of that many bytes. */
static int (*odd)[0x7fffffff];

SEC("xdp") int program(struct xdp_md *ctx)
{
	volatile typeof(odd) array = 0;

	return array ? XDP_DROP : XDP_PASS;
}

typeof(odd) keeps_the_type SEC(".data.odd") = 0;
