/* A loader: starts the chain that entry 0 of the map `chains` names, for packets of IPv4. All else passes, and everything does while there is 0;
 * packets of IPv4 for a number that no chain has are aborted (XDP_ABORTED). */
#include "../frame.h"

bpf_map(chains, ARRAY, __u32, __u32, 1);

__section("xdp_ip4")
int ip4(struct xdp_md *ctx)
{
	const __u32 first = 0;
	__u32 *chain = bpf_map_lookup_elem(&chains, &first);

	if (chain && *chain && network(ctx, ETH_P_IP))
		hike_chain_boostrap(ctx, *chain);
	return XDP_PASS;
}
EXPORT_HIKE_MAP(ip4, chains);

char LICENSE[] SEC("license") = "Dual MIT/GPL";
