// A classifier and NULLS programs that do nothing, of which nothing is left once they are inlined.
#include "composed.h"
#include "../../packages/basics/drop.bpf.c"
#include "../packages/bench/null.bpf.c"

#ifndef NULLS
#define NULLS 8
#endif

static __always_inline int run_chain(struct xdp_md *ctx)
{
#pragma unroll
	for (int call = 0; call < NULLS; call++)
		CALL(null, 0, 0, 0);
	CALL(drop, 0, 0, 0);
	return XDP_ABORTED;
}

#include "../../packages/basics/ip6.bpf.c"
