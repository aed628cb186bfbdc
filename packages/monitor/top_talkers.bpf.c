/* top_talkers(parts): counts packets and their bytes by the source address of IPv6 (parts 1), by the destination (2), or by both (3). Gives how many
 * packets there were of it, this one included; 0 for packets that are none of IPv6. Of 16,384 those go that were not seen for long, so that the
 * ones that send most stay. `bpftool map dump name talkers` shows them. */
#include "../frame.h"

bpf_map(talkers, LRU_HASH, struct addresses, struct traffic, 16384);

HIKE_PROG(top_talkers)
{
	struct addresses key;

	if (addresses_of(ctx, HVM_ARG2, &key))
		HVM_RET = count_traffic(ctx, &talkers, &key);
	return HIKE_XDP_VM;
}
EXPORT_HIKE_PROG_2(top_talkers, __u8, parts);
EXPORT_HIKE_PROG_MAP(top_talkers, talkers);

char LICENSE[] SEC("license") = "Dual MIT/GPL";
