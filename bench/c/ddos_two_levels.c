// What examples/ddos_two_levels.eclat does, with the same programs.
#include "composed.h"
#include "../../packages/basics/accept.bpf.c"
#include "../../packages/basics/drop.bpf.c"
#include "../../packages/ip6/hash.bpf.c"
#include "../../packages/limits/expiring_set.bpf.c"
#include "../../packages/limits/token_bucket.bpf.c"
#include "../../packages/monitor/events.bpf.c"

enum { LOOK_UP };
enum { PASSED = 1, PASSED_BUSY, OFFENDED, BLACKLISTED };

static __always_inline int run_chain(struct xdp_md *ctx)
{
	__u32 how = PASSED;

	if (CALL(expiring_set, LOOK_UP, BOTH, 0)) {
		CALL(events, BLACKLISTED, 0, 0);
		CALL(drop, 0, 0, 0);
	}
	if (CALL(token_bucket, CALL(hash, DESTINATION, 0, 0), 1000, 1000)) {
		if (CALL(token_bucket, CALL(hash, BOTH, 0, 0), 500, 500)) {
			CALL(expiring_set, ADD, BOTH, 10);
			CALL(events, OFFENDED, 0, 0);
			CALL(drop, 0, 0, 0);
		}
		how = PASSED_BUSY;
	}
	CALL(events, how, 0, 0);
	CALL(accept, 0, 0, 0);
	return XDP_ABORTED;
}

#include "../../packages/basics/ip6.bpf.c"
