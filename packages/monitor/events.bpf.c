/* events(number): counts by any number of 32 bits, on each CPU by itself. Gives how often this CPU has counted it. Of 4096 numbers those go that
 * were not counted for long. */
#include "../frame.h"

bpf_map(counts, LRU_PERCPU_HASH, __u32, __u64, 4096);

HIKE_PROG(events)
{
	__u64 first = 1, *count;
	__u32 number = HVM_ARG2;

	count = bpf_map_lookup_elem(&counts, &number);
	if (count)
		first = ++*count;
	else
		bpf_map_update_elem(&counts, &number, &first, BPF_ANY);
	HVM_RET = first;
	return HIKE_XDP_VM;
}
EXPORT_HIKE_PROG_2(events, __u32, number);
EXPORT_HIKE_PROG_MAP(events, counts);

char LICENSE[] SEC("license") = "Dual MIT/GPL";
