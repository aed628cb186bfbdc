/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What programs for segments have in common: the routing header (RFC 8754), and packets within packets. Frames with VLAN tags are none to
 * them: what is in front of a packet has to stay in front of another one.
 */
#ifndef MOONHOOK_SEGMENTS_H
#define MOONHOOK_SEGMENTS_H

#include "../frame.h"
#include <linux/ip.h>
#include <linux/seg6.h>

/* The type of routing headers that are about segments. */
#define SEGMENT_ROUTING 4

/* What of the Ethernet header does not change with the packet behind it. */
struct link {
	__u8 addresses[2 * ETH_ALEN];
};

/* The header of an IP packet of that EtherType which is at `at`, and whole in front of `end`; else NULL. */
static __always_inline void *packet_at(unsigned char *at, unsigned char *end, __u16 type)
{
	if (type == ETH_P_IPV6)
		return at + sizeof(struct ipv6hdr) <= end && at[0] >> 4 == 6 ? at : NULL;
	if (at + sizeof(struct iphdr) > end || at[0] >> 4 != 4 || (at[0] & 15) < 5)
		return NULL;
	return at + 4 * (at[0] & 15) <= end ? at : NULL;
}

/* The IP packet behind the Ethernet header, if it is one of that EtherType. */
static __always_inline void *packet_of(struct xdp_md *ctx, __u16 type)
{
	struct ethhdr *eth = (void *)(long)ctx->data;
	unsigned char *end = (void *)(long)ctx->data_end;

	if ((unsigned char *)(eth + 1) > end || eth->h_proto != bpf_htons(type))
		return NULL;
	return packet_at((unsigned char *)(eth + 1), end, type);
}

/* The routing header for segments behind that of IPv6; NULL if there is none, or it is cut off within its first eight bytes. */
static __always_inline struct ipv6_sr_hdr *segments_of(struct xdp_md *ctx, struct ipv6hdr *header)
{
	struct ipv6_sr_hdr *segments = (void *)(header + 1);

	if (header->nexthdr != IPPROTO_ROUTING || (void *)(segments + 1) > (void *)(long)ctx->data_end)
		return NULL;
	return segments->type == SEGMENT_ROUTING ? segments : NULL;
}

/* Makes the frame longer (`by` is below 0) or shorter in front; the addresses of the link stay in front of what becomes the packet, which is of
 * that EtherType. False where there is no room. */
static __always_inline bool move_link(struct xdp_md *ctx, int by, __u16 type)
{
	struct ethhdr *eth = (void *)(long)ctx->data;
	struct link link;

	if ((void *)(eth + 1) > (void *)(long)ctx->data_end)
		return false;
	memcpy(&link, eth, sizeof(link));
	if (bpf_xdp_adjust_head(ctx, by))
		return false;
	eth = (void *)(long)ctx->data;
	if ((void *)(eth + 1) > (void *)(long)ctx->data_end)
		return false;
	memcpy(eth, &link, sizeof(link));
	eth->h_proto = bpf_htons(type);
	return true;
}

#endif
