// Drops datagrams whose weighted header bytes add up to an even number.
#include "frame.h"

static const __u8 offsets[] = { 14, 15, 16, 17, 22, 23, 26, 27, 28, 29, 30, 31, 32, 33, 36, 37 };

SEC("xdp") int closures(struct xdp_md *ctx)
{
	const __u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u64 sum = 0, count = 0;

	if (data + 38 > end)
		return XDP_PASS;
#pragma unroll
	for (int i = 0; i < (int)sizeof offsets; i++)
		sum += data[offsets[i]] * 3 + ++count;
	return sum % 2 == 0 ? XDP_DROP : XDP_PASS;
}

char _license[] SEC("license") = "GPL";
