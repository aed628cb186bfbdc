/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Where the headers of a frame are, and the addresses of IPv6 as keys of maps; for the programs of these packages.
 */
#ifndef MOONHOOK_FRAME_H
#define MOONHOOK_FRAME_H

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ipv6.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

/* VLAN tags that are passed over, at most (IEEE 802.1Q): as many as `pkt.ip` of scripts in Lua passes over. */
#define MOST_TAGS 2
#define TAG 4

/* What is behind the EtherType `type`; NULL where the frame has another one. */
static __always_inline void *network(struct xdp_md *ctx, __u16 type)
{
	unsigned char *at = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	at += 2 * ETH_ALEN;
	for (int tags = 0; tags <= MOST_TAGS; tags++, at += TAG) {
		if (at + 2 > end)
			return NULL;
		__u16 found = bpf_ntohs(*(__be16 *)at);

		if (found == type)
			return at + 2;
		if (found != ETH_P_8021Q && found != ETH_P_8021AD)
			return NULL;
	}
	return NULL;
}

/* The header of IPv6; NULL where it is not there, or not whole. */
static __always_inline struct ipv6hdr *ip6_header(struct xdp_md *ctx)
{
	struct ipv6hdr *header = network(ctx, ETH_P_IPV6);

	if (!header || (void *)(header + 1) > (void *)(long)ctx->data_end || header->version != 6)
		return NULL;
	return header;
}

static __always_inline __u64 frame_length(struct xdp_md *ctx)
{
	return ctx->data_end - ctx->data;
}

/* Which addresses a program is to look at: one bit for each. */
enum { SOURCE = 1, DESTINATION = 2, BOTH = SOURCE | DESTINATION };

/* A key made of them; those that are not asked for are zeros. */
struct addresses {
	__u32 parts;
	__u8 source[16], destination[16];
};

/* Fills in the key; false where there is no IPv6, or no address is asked for. */
static __always_inline bool addresses_of(struct xdp_md *ctx, __u64 parts, struct addresses *key)
{
	struct ipv6hdr *header = ip6_header(ctx);

	memset(key, 0, sizeof(*key));
	if (!header || !parts || parts > BOTH)
		return false;
	key->parts = parts;
	if (parts & SOURCE)
		memcpy(key->source, &header->saddr, sizeof(key->source));
	if (parts & DESTINATION)
		memcpy(key->destination, &header->daddr, sizeof(key->destination));
	return true;
}

/* How much was counted. */
struct traffic {
	__u64 packets, bytes;
};

/* Counts the frame under a key of a map that all CPUs share; gives how many there were, this one included. */
static __always_inline __u64 count_traffic(struct xdp_md *ctx, void *map, const void *key)
{
	struct traffic first = { 1, frame_length(ctx) };
	struct traffic *known = bpf_map_lookup_elem(map, key);

	if (!known) {
		if (!bpf_map_update_elem(map, key, &first, BPF_NOEXIST))
			return 1;
		/* Another CPU has been faster. */
		known = bpf_map_lookup_elem(map, key);
		if (!known)
			return 1;
	}
	__sync_fetch_and_add(&known->bytes, first.bytes);
	return __sync_fetch_and_add(&known->packets, 1) + 1;
}

#endif
