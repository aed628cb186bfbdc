/* Gives what the packet says: numbers that are no verdicts, and those by which others would know that a chain is started. Some packets start one, by
 * numbers of all sizes. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

__section("xdp_loader")
int answers(struct xdp_md *ctx)
{
	unsigned char *data = (void *)(long)ctx->data;

	if (data + 2 > (unsigned char *)(long)ctx->data_end)
		return XDP_DROP;
	switch (data[1] % 8) {
	case 0:
		hike_chain_boostrap(ctx, 1);
		break;
	case 1:
		hike_chain_boostrap(ctx, data[0]);
		break;
	case 5:
		hike_chain_boostrap(ctx, 1u << (data[0] & 31) | 1);
		break;
	case 6:
		hike_chain_boostrap(ctx, (__u32)data[0] << 30 | 1);
		break;
	case 2:
		return 0x40000001;
	case 3:
		return 0x80000001;
	case 4:
		return -1;
	}
	return 0x40000000 | data[0];
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
