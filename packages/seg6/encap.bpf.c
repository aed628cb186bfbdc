/* encap(number): puts an IP packet into one of IPv6 that goes by way of the segments which the map `lists` has under that number (H.Encaps,
 * RFC 8986, section 5.1). Gives 1, or 0 where it cannot: no such list, no IP packet or one behind VLAN tags, no room. A script fills the map with how
 * many segments there are (1 to 4), the source, and the segments in the order of the way; the places of those that are not there have '::'.
 *
 *     encap[lists] = { (1): (2, 'fc00::1', 'fc00:a::', 'fc00:b::', '::', '::') }
 *
 * Traffic class and, of IPv6, flow label are those of the packet within. Segments that are the only one have a routing header, too. */
#include "segments.h"

#define MOST_SEGMENTS 4
#define HOP_LIMIT 64

/* Each segment has a name, for whom scripts give one text each. */
struct list {
	__u32 count;
	__u8 source[16];
	__u8 first[16], second[16], third[16], fourth[16];
};

bpf_map(lists, HASH, __u32, struct list, 256);

/* What the outer header has of the inner packet. */
struct inner {
	__be32 first;
	__u32 length;
	__u8 next;
};

static __always_inline bool inner_of(struct xdp_md *ctx, struct inner *inner)
{
	struct ipv6hdr *ip6 = packet_of(ctx, ETH_P_IPV6);
	struct iphdr *ip4;

	if (ip6) {
		inner->first = *(__be32 *)ip6;
		inner->length = sizeof(*ip6) + bpf_ntohs(ip6->payload_len);
		inner->next = IPPROTO_IPV6;
		return true;
	}
	ip4 = packet_of(ctx, ETH_P_IP);
	if (!ip4)
		return false;
	inner->first = bpf_htonl(6U << 28 | ip4->tos << 20);
	inner->length = bpf_ntohs(ip4->tot_len);
	inner->next = IPPROTO_IPIP;
	return true;
}

/* The same for each number of segments, which the compiler knows. */
static __always_inline bool push(struct xdp_md *ctx, const struct list *list, const struct inner *inner, int count)
{
	const int extension = sizeof(struct ipv6_sr_hdr) + 16 * count;
	struct ipv6_sr_hdr *segments;
	struct ipv6hdr *header;
	unsigned char *data;

	if (inner->length + extension > 0xffff)
		return false;
	if (!move_link(ctx, -(int)(sizeof(*header) + extension), ETH_P_IPV6))
		return false;
	data = (void *)(long)ctx->data;
	if (data + sizeof(struct ethhdr) + sizeof(*header) + extension > (unsigned char *)(long)ctx->data_end)
		return false;
	header = (void *)(data + sizeof(struct ethhdr));
	*(__be32 *)header = inner->first;
	header->payload_len = bpf_htons(inner->length + extension);
	header->nexthdr = IPPROTO_ROUTING;
	header->hop_limit = HOP_LIMIT;
	memcpy(&header->saddr, list->source, 16);
	memcpy(&header->daddr, list->first, 16);
	segments = (void *)(header + 1);
	segments->nexthdr = inner->next;
	segments->hdrlen = 2 * count;
	segments->type = SEGMENT_ROUTING;
	segments->segments_left = count - 1;
	segments->first_segment = count - 1;
	segments->flags = 0;
	segments->tag = 0;
	/* The last segment of the way comes first. */
	for (int number = 0; number < count; number++)
		memcpy(&segments->segments[count - 1 - number], (__u8 *)list + offsetof(struct list, first) + 16 * number, 16);
	return true;
}

HIKE_PROG(encap)
{
	__u32 number = HVM_ARG2;
	struct list *list = bpf_map_lookup_elem(&lists, &number);
	struct inner inner;

	if (!list || !inner_of(ctx, &inner))
		return HIKE_XDP_VM;
	switch (list->count) {
	case 1:
		HVM_RET = push(ctx, list, &inner, 1);
		break;
	case 2:
		HVM_RET = push(ctx, list, &inner, 2);
		break;
	case 3:
		HVM_RET = push(ctx, list, &inner, 3);
		break;
	case MOST_SEGMENTS:
		HVM_RET = push(ctx, list, &inner, MOST_SEGMENTS);
		break;
	}
	return HIKE_XDP_VM;
}
EXPORT_HIKE_PROG_2(encap, __u32, number);
EXPORT_HIKE_PROG_MAP(encap, lists);

char LICENSE[] SEC("license") = "Dual MIT/GPL";
