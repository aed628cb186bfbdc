/* Makes packets longer or shorter at the head, and writes their first byte. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

HIKE_PROG(shift)
{
	int by = (int)HVM_ARG2;
	unsigned char *data, *end;

	if (by < -64 || by > 64)
		return XDP_ABORTED;
	if (by && bpf_xdp_adjust_head(ctx, by))
		return HIKE_XDP_VM;
	data = (unsigned char *)(long)ctx->data;
	end = (unsigned char *)(long)ctx->data_end;
	if (data + 1 > end)
		return XDP_DROP;
	data[0] = HVM_ARG3;
	HVM_RET = end - data;
	return HIKE_XDP_VM;
}
EXPORT_HIKE_PROG(shift);

char LICENSE[] SEC("license") = "GPL";
