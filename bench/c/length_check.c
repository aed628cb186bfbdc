// Drops UDP datagrams to one port in frames longer than 128 bytes.
#include "frame.h"

enum { PORT = 5060, LIMIT = 128 };

SEC("xdp") int length_check(struct xdp_md *ctx)
{
	const __u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end, *udp;
	__u32 offset = transport(data, end, PROTO_UDP);

	if (!offset || !WITHIN(udp, data, end, offset, 8) || LOAD16(udp + 2) != bpf_htons(PORT))
		return XDP_PASS;
	return end - data > LIMIT ? XDP_DROP : XDP_PASS;
}

char _license[] SEC("license") = "GPL";
