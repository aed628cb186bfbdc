// Drops UDP datagrams over IPv4 to one port whose header says that they are longer than 128 bytes.
#include "frame.h"

enum { PORT = 5060, LIMIT = 128 };

SEC("xdp") int layouts(struct xdp_md *ctx)
{
	const __u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end, *ip = data + ETHERNET, *udp;

	if (ip + 20 > end || LOAD16(data + 12) != bpf_htons(0x0800) || ip[9] != PROTO_UDP)
		return XDP_PASS;
	udp = ip + (ip[0] & 15) * 4;
	if (udp + 8 > end || bpf_ntohs(LOAD16(udp + 4)) <= LIMIT)
		return XDP_PASS;
	return LOAD16(udp + 2) == bpf_htons(PORT) ? XDP_DROP : XDP_PASS;
}

char _license[] SEC("license") = "GPL";
