/* redirect(interface): sends the packet out by the interface with that number, as it is. */
#include "../frame.h"

HIKE_PROG(redirect)
{
	return bpf_redirect(HVM_ARG2, 0);
}
EXPORT_HIKE_PROG_2(redirect, __u32, interface);

char LICENSE[] SEC("license") = "Dual MIT/GPL";
