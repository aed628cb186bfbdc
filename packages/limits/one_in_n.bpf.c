/* one_in_n(n, number): 1 for the first of n packets, 0 for the others: of those that this CPU has seen with that number, from 0 to 255. 0 for other
 * numbers, and where n is 0. */
#include "../frame.h"

#define NUMBERS 256

bpf_map(turns, PERCPU_ARRAY, __u32, __u64, NUMBERS);

HIKE_PROG(one_in_n)
{
	__u64 n = __to_u32(HVM_ARG2), number = HVM_ARG3, *turn;
	__u32 key = number;

	if (number >= NUMBERS || !n)
		return HIKE_XDP_VM;
	turn = bpf_map_lookup_elem(&turns, &key);
	if (!turn)
		return HIKE_XDP_VM;
	HVM_RET = *turn == 0;
	*turn = *turn + 1 < n ? *turn + 1 : 0;
	return HIKE_XDP_VM;
}
EXPORT_HIKE_PROG_3(one_in_n, __u32, n, __u8, number);
EXPORT_HIKE_PROG_MAP(one_in_n, turns);

char LICENSE[] SEC("license") = "Dual MIT/GPL";
