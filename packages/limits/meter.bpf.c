/* meter(): counts packets and their bytes by flow: addresses of IPv6, next header, and the first four bytes behind it (ports) where that is TCP,
 * UDP or SCTP. Gives how many packets of its flow there were, this one included; 0 for packets that are none of IPv6. Of 65,536 flows those
 * go that were not seen for long. */
#include "../frame.h"

struct flow {
	__u8 source[16], destination[16];
	__u32 next, ports;
};

bpf_map(flows, LRU_HASH, struct flow, struct traffic, 65536);

static __always_inline bool has_ports(__u8 next)
{
	return next == IPPROTO_TCP || next == IPPROTO_UDP || next == IPPROTO_SCTP;
}

HIKE_PROG(meter)
{
	struct ipv6hdr *header = ip6_header(ctx);
	struct flow flow = {};
	__be32 *ports;

	if (!header)
		return HIKE_XDP_VM;
	memcpy(flow.source, &header->saddr, sizeof(flow.source));
	memcpy(flow.destination, &header->daddr, sizeof(flow.destination));
	flow.next = header->nexthdr;
	ports = (__be32 *)(header + 1);
	if (has_ports(header->nexthdr) && (void *)(ports + 1) <= (void *)(long)ctx->data_end)
		flow.ports = bpf_ntohl(*ports);
	HVM_RET = count_traffic(ctx, &flows, &flow);
	return HIKE_XDP_VM;
}
EXPORT_HIKE_PROG(meter);
EXPORT_HIKE_PROG_MAP(meter, flows);

char LICENSE[] SEC("license") = "Dual MIT/GPL";
