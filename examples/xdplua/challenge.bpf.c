/* The C half of the JavaScript challenge (challenge.lua): requests to port 80 whose cookie is not the client's count against the client, and one
 * with too many of them is dropped before anything of its packets is looked at. A few are allowed: browsers ask for several things at once
 * before they have run the page's script. */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/tcp.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>

#include "challenge.h"
#define XDPLUA_FUNCTIONS challenge__functions
#include "xdplua.h"

#define ALLOWED 8

/* How many requests without the cookie a client has sent. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, __u32);
} strangers SEC(".maps");

static __always_inline int is_known(struct xdp_md *ctx, int offset, __u32 client)
{
	char function[] = "checkcookie";
	int reference, known = 1;

	bpf_set_lua_state(ctx);
	reference = bpf_lua_data_newref(ctx, offset);
	if (reference < 0)
		return 1;
	bpf_lua_pushinteger(ctx, client);
	if (!bpf_lua_pcall(ctx, function, 2, 1)) {
		known = bpf_lua_toboolean(ctx, -1);
		bpf_lua_pop(ctx, 1);
	}
	bpf_lua_data_unref(ctx, reference);
	return known;
}

SEC("xdp") int challenge_filter(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data;
	struct iphdr *ip = data + sizeof(*eth);
	__u32 client, *count, one = 1;
	struct tcphdr *tcp;
	int offset;

	if ((void *)(ip + 1) > end || eth->h_proto != bpf_htons(ETH_P_IP) || ip->protocol != IPPROTO_TCP)
		return XDP_PASS;
	tcp = (void *)ip + ip->ihl * 4;
	if ((void *)(tcp + 1) > end || tcp->dest != bpf_htons(80))
		return XDP_PASS;
	client = bpf_ntohl(ip->saddr);
	count = bpf_map_lookup_elem(&strangers, &client);
	if (count && *count > ALLOWED)
		return XDP_DROP;
	offset = (void *)tcp + tcp->doff * 4 - data;
	if (is_known(ctx, offset, client))
		return XDP_PASS;
	if (count)
		__sync_fetch_and_add(count, 1);
	else
		bpf_map_update_elem(&strangers, &client, &one, BPF_ANY);
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
