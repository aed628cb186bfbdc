// What bench/scripts/ddos_one_level.eclat does, with the same programs.
#include "composed.h"
#include "../../packages/basics/accept.bpf.c"
#include "../../packages/basics/drop.bpf.c"
#include "../../packages/ip6/hash.bpf.c"
#include "../../packages/limits/expiring_set.bpf.c"
#include "../../packages/limits/token_bucket.bpf.c"
#include "../../packages/monitor/events.bpf.c"

enum { LOOK_UP };
enum { PASSED = 1, OFFENDED = 3, BLACKLISTED };

static __always_inline int run_chain(struct xdp_md *ctx)
{
	if (CALL(expiring_set, LOOK_UP, BOTH, 0)) {
		CALL(events, BLACKLISTED, 0, 0);
		CALL(drop, 0, 0, 0);
	}
	if (CALL(token_bucket, CALL(hash, BOTH, 0, 0), 500, 500)) {
		CALL(expiring_set, ADD, BOTH, 10);
		CALL(events, OFFENDED, 0, 0);
		CALL(drop, 0, 0, 0);
	}
	CALL(events, PASSED, 0, 0);
	CALL(accept, 0, 0, 0);
	return XDP_ABORTED;
}

#include "../../packages/basics/ip6.bpf.c"
