/* next_header(): what is behind the header of IPv6, by its number: 6 is TCP, 17 is UDP, 43 a routing header. 255, which stands for nothing, for
 * packets that are none of IPv6. */
#include "../frame.h"

HIKE_PROG(next_header)
{
	struct ipv6hdr *header = ip6_header(ctx);

	HVM_RET = header ? header->nexthdr : IPPROTO_RAW;
	return HIKE_XDP_VM;
}
EXPORT_HIKE_PROG(next_header);

char LICENSE[] SEC("license") = "Dual MIT/GPL";
