// The least that a program can do that drops a frame, or sends it out of an interface.
#include "to.h"

SEC("xdp") int drop(struct xdp_md *ctx)
{
	return XDP_DROP;
}

SEC("xdp") int redirect(struct xdp_md *ctx)
{
	__u32 zero = 0, *interface = bpf_map_lookup_elem(&to, &zero);

	return interface ? bpf_redirect(*interface, 0) : XDP_ABORTED;
}

char _license[] SEC("license") = "GPL";
