/* count(number): counts packets and their bytes by a number from 0 to 255. Gives how many packets this CPU has counted so, 0 for other numbers. */
#include "../frame.h"

#define NUMBERS 256

bpf_map(counts, PERCPU_ARRAY, __u32, struct traffic, NUMBERS);

HIKE_PROG(count)
{
	__u64 number = HVM_ARG2;
	__u32 key = number;
	struct traffic *count;

	/* The key is the lower half only. */
	if (number >= NUMBERS)
		return HIKE_XDP_VM;
	count = bpf_map_lookup_elem(&counts, &key);
	if (!count)
		return HIKE_XDP_VM;
	count->packets++;
	count->bytes += frame_length(ctx);
	HVM_RET = count->packets;
	return HIKE_XDP_VM;
}
EXPORT_HIKE_PROG_2(count, __u64, number);
EXPORT_HIKE_PROG_MAP(count, counts);

char LICENSE[] SEC("license") = "Dual MIT/GPL";
