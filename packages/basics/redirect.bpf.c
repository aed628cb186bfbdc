/* redirect(interface): sends the packet out by the interface with that number, as it is. Drops it where that is no number of an interface (1 to
 * 0x7fffffff); the kernel does so where there is none of that number. */
#include "../frame.h"

#define MOST 0x7fffffff

HIKE_PROG(redirect)
{
	__u64 number = HVM_ARG2;

	if (number < 1 || number > MOST)
		return XDP_DROP;
	return bpf_redirect(number, 0);
}
EXPORT_HIKE_PROG_2(redirect, __u32, interface);

char LICENSE[] SEC("license") = "Dual MIT/GPL";
