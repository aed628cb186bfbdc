// Programs of packages as parts of one C program: included behind the packages' header (hike.h), and before the programs. A unit that
// includes them defines `run_chain`, which calls them in order, and then includes the loader.
#pragma once

// A program is no function of its own, and what it exports is for nobody.
#undef HIKE_VM_PROG_PROTO
#define HIKE_VM_PROG_PROTO(name) \
	static __always_inline int name(struct xdp_md *ctx, __u64 *ret, __u64 a2, __u64 a3, __u64 a4)
#undef MOONHOOK_EXPORT
#define MOONHOOK_EXPORT extern

// Each program has its licence.
#define LICENSE EVAL_CAT_2(license_, __COUNTER__)

// The chain is code in its loader, which it ends.
static __always_inline int run_chain(struct xdp_md *ctx);
#define hike_chain_boostrap(ctx, number) return run_chain(ctx)

// Calls a program in a chain: a verdict ends the packet, else this is what the program gives.
#define CALL(program, a2, a3, a4)                                  \
	({                                                         \
		__u64 given;                                       \
		__u32 verdict = program(ctx, &given, (a2), (a3), (a4)); \
                                                                   \
		if (verdict <= XDP_REDIRECT)                       \
			return verdict;                            \
		given;                                             \
	})
