/* drop(): drops the packet. */
#include "../frame.h"

HIKE_PROG(drop)
{
	return XDP_DROP;
}
EXPORT_HIKE_PROG(drop);

char LICENSE[] SEC("license") = "Dual MIT/GPL";
