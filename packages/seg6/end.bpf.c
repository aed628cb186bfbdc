/* end(): what the node of a segment does (End, RFC 8986, section 4.1): the next segment becomes the destination, and the hop limit is one less.
 * Gives 1; the packet is to be sent on. Gives 0 for packets without a routing header for segments, and for those that have passed all of them.
 * Drops those whose hop limit is over, or whose header is wrong or not whole: ICMP errors are the network stack's to send, and XDP has none. */
#include "segments.h"

HIKE_PROG(advance)
{
	struct ipv6hdr *header = packet_of(ctx, ETH_P_IPV6);
	struct ipv6_sr_hdr *segments;
	unsigned char *segment;
	__u64 left;

	segments = header ? segments_of(ctx, header) : NULL;
	if (!segments || !segments->segments_left)
		return HIKE_XDP_VM;
	left = segments->segments_left;
	if (header->hop_limit <= 1)
		return XDP_DROP;
	if (segments->first_segment > segments->hdrlen / 2 - 1 || left > segments->first_segment + 1)
		return XDP_DROP;
	left--;
	segment = (unsigned char *)(segments + 1) + 16 * READ_ONCE(left);
	if (segment + 16 > (unsigned char *)(long)ctx->data_end)
		return XDP_DROP;
	header->hop_limit--;
	segments->segments_left = left;
	memcpy(&header->daddr, segment, 16);
	HVM_RET = 1;
	return HIKE_XDP_VM;
}
EXPORT_HIKE_PROG(advance);

char LICENSE[] SEC("license") = "Dual MIT/GPL";
