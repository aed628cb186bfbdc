/* null(): does nothing. What a call of it costs is what composition costs. */
#include <linux/bpf.h>

HIKE_PROG(null)
{
	return HIKE_XDP_VM;
}
EXPORT_HIKE_PROG(null);

char LICENSE[] SEC("license") = "Dual MIT/GPL";
