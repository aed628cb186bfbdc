// Drops ARP: one field of the Ethernet header.
#include "frame.h"

SEC("xdp") int npf_access(struct xdp_md *ctx)
{
	const __u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	if (data + ETHERNET > end)
		return XDP_PASS;
	return LOAD16(data + 12) == bpf_htons(0x0806) ? XDP_DROP : XDP_PASS;
}

char _license[] SEC("license") = "GPL";
