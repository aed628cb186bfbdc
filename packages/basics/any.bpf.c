/* A loader: starts the chain that entry 0 of the map `chains` names, for every packet. While there is 0, all pass; packets for a number that no
 * chain has are aborted (XDP_ABORTED). */
#include "../frame.h"

bpf_map(chains, ARRAY, __u32, __u32, 1);

__section("xdp_any")
int any(struct xdp_md *ctx)
{
	const __u32 first = 0;
	__u32 *chain = bpf_map_lookup_elem(&chains, &first);

	if (chain && *chain)
		hike_chain_boostrap(ctx, *chain);
	return XDP_PASS;
}
EXPORT_HIKE_MAP(any, chains);

char LICENSE[] SEC("license") = "Dual MIT/GPL";
