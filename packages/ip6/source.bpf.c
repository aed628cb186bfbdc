/* source(part): the packet's source address of IPv6 as a number: its first 64 bits (part 0), or its last (1). 0 for packets that are none of IPv6. */
#include "../frame.h"

HIKE_PROG(source)
{
	struct ipv6hdr *header = ip6_header(ctx);
	__be64 halves[2];

	if (!header)
		return HIKE_XDP_VM;
	memcpy(halves, &header->saddr, sizeof(halves));
	HVM_RET = bpf_be64_to_cpu(HVM_ARG2 ? halves[1] : halves[0]);
	return HIKE_XDP_VM;
}
EXPORT_HIKE_PROG_2(source, __u8, part);

char LICENSE[] SEC("license") = "Dual MIT/GPL";
