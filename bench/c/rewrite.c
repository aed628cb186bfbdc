// Sends IPv4 UDP datagrams on to another address and port; each checksum is changed once (RFC 1624).
#include "frame.h"

enum { TTL = 63, PORT = 8080, ADDRESS = 0xc0000209 };

// Adds a difference to a checksum.
static __always_inline __u16 changed(__u16 sum, __u64 difference)
{
	difference += (__u16)~sum;
	difference = (difference & 0xffff) + (difference >> 16);
	difference = (difference & 0xffff) + (difference >> 16);
	difference = (difference & 0xffff) + (difference >> 16);
	return ~difference;
}

SEC("xdp") int rewrite(struct xdp_md *ctx)
{
	__u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end, *ip, *udp;
	__u32 offset = transport(data, end, PROTO_UDP);
	__u64 address, ports;
	__u16 sum;

	if (!offset || LOAD16(data + 12) != bpf_htons(0x0800))
		return XDP_PASS;
	if (!WITHIN(ip, data, end, ETHERNET, 20) || !WITHIN(udp, data, end, offset, 8))
		return XDP_PASS;
	address = (__u64)bpf_htonl(ADDRESS) + (__u32)~LOAD32(ip + 16);
	*(__u16 *)(ip + 10) = changed(LOAD16(ip + 10), address + TTL + (__u16)~ip[8]);
	ip[8] = TTL;
	*(__u32 *)(ip + 16) = bpf_htonl(ADDRESS);
	sum = LOAD16(udp + 6);
	ports = bpf_htons(PORT) + (__u16)~LOAD16(udp + 2);
	*(__u16 *)(udp + 2) = bpf_htons(PORT);
	if (sum) {
		sum = changed(sum, address + ports);
		*(__u16 *)(udp + 6) = sum ? sum : 0xffff;
	}
	return XDP_TX;
}

char _license[] SEC("license") = "GPL";
