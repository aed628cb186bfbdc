/* decap(): takes an IP packet out of one of IPv6, with or without a routing header whose segments are all passed (RFC 8986, section 4.1.1,
 * upper-layer headers 41 and 4). Gives 1, or 0 for other packets, which stay as they are. */
#include "segments.h"

HIKE_PROG(decap)
{
	struct ipv6hdr *header = packet_of(ctx, ETH_P_IPV6);
	struct ipv6_sr_hdr *segments;
	unsigned char *at;
	__u64 outer;
	__u16 type;
	__u8 next;

	if (!header)
		return HIKE_XDP_VM;
	next = header->nexthdr;
	outer = sizeof(*header);
	if (next == IPPROTO_ROUTING) {
		segments = segments_of(ctx, header);
		if (!segments || segments->segments_left)
			return HIKE_XDP_VM;
		next = segments->nexthdr;
		outer += sizeof(*segments) + 8 * segments->hdrlen;
	}
	if (next != IPPROTO_IPV6 && next != IPPROTO_IPIP)
		return HIKE_XDP_VM;
	type = next == IPPROTO_IPV6 ? ETH_P_IPV6 : ETH_P_IP;
	at = (unsigned char *)header + READ_ONCE(outer);
	if (!packet_at(at, (void *)(long)ctx->data_end, type))
		return HIKE_XDP_VM;
	HVM_RET = move_link(ctx, outer, type);
	return HIKE_XDP_VM;
}
EXPORT_HIKE_PROG(decap);

char LICENSE[] SEC("license") = "Dual MIT/GPL";
