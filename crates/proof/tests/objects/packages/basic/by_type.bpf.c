/* Starts the chain that a map names for the packet's EtherType. */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

struct kind {
	__u16 type;
	__u8 version, unused;
};

bpf_map(chains, HASH, struct kind, __u32, 8);

__section("xdp_loader")
int by_type(struct xdp_md *ctx)
{
	struct ethhdr *eth = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	struct kind kind = { 0, 1, 0 };
	__u32 *chain;

	if ((void *)(eth + 1) > end)
		return XDP_DROP;
	kind.type = bpf_ntohs(eth->h_proto);
	chain = bpf_map_lookup_elem(&chains, &kind);
	if (!chain)
		return XDP_PASS;
	hike_chain_boostrap(ctx, *chain);
	return XDP_ABORTED;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
