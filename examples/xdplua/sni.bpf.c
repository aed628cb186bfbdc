/* The C half of a filter of TLS by server names (sni.lua): what goes to port 443 is given to Lua, with the offset of its payload, by the function that
 * Lunatik's programs call. */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/tcp.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>

extern int bpf_luaxdp_run(char *key, unsigned long key__sz, struct xdp_md *xdp_ctx, void *arg, unsigned long arg__sz) __ksym;

static char script[] = "sni";

SEC("xdp") int sni_filter(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data;
	struct iphdr *ip = data + sizeof(*eth);
	struct tcphdr *tcp;
	__u16 offset;
	int verdict;

	if ((void *)(ip + 1) > end || eth->h_proto != bpf_htons(ETH_P_IP) || ip->protocol != IPPROTO_TCP)
		return XDP_PASS;
	tcp = (void *)ip + ip->ihl * 4;
	if ((void *)(tcp + 1) > end || tcp->dest != bpf_htons(443))
		return XDP_PASS;
	offset = bpf_htons((void *)tcp + tcp->doff * 4 - data);
	verdict = bpf_luaxdp_run(script, sizeof(script), ctx, &offset, sizeof(offset));
	return verdict < 0 ? XDP_PASS : verdict;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
