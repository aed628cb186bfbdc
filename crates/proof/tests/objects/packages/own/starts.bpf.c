/* No loader, but it starts a chain. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

HIKE_PROG(starts)
{
	hike_chain_boostrap(ctx, 1);
	return HIKE_XDP_VM;
}
EXPORT_HIKE_PROG(starts);

char LICENSE[] SEC("license") = "GPL";
