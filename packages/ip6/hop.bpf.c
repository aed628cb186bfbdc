/* hop(): lowers the hop limit by one, and gives what is left. Where that would be 0, as where the packet is none of IPv6, it gives 0 and changes
 * nothing: such a packet is not to be sent on (RFC 8200, section 3). */
#include "../frame.h"

HIKE_PROG(hop)
{
	struct ipv6hdr *header = ip6_header(ctx);

	if (!header || header->hop_limit <= 1)
		return HIKE_XDP_VM;
	HVM_RET = --header->hop_limit;
	return HIKE_XDP_VM;
}
EXPORT_HIKE_PROG(hop);

char LICENSE[] SEC("license") = "Dual MIT/GPL";
