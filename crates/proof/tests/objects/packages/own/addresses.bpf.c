/* Writes what maps have of addresses over the packet's first bytes. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

struct first {
	__u8 address[16];
	__u32 number;
};

struct second {
	__u32 count;
	__u8 addresses[2][16];
};

bpf_map(first, HASH, __u32, struct first, 4);
bpf_map(second, HASH, __u32, struct second, 4);

HIKE_PROG(addresses)
{
	unsigned char *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 key = 1;
	struct first *one = bpf_map_lookup_elem(&first, &key);
	struct second *two = bpf_map_lookup_elem(&second, &key);

	if (!one || !two || data + 5 > end)
		return XDP_DROP;
	data[0] = one->address[0];
	data[1] = one->address[15];
	data[2] = one->number;
	data[3] = two->addresses[0][0];
	data[4] = two->addresses[1][15];
	return XDP_PASS;
}
EXPORT_HIKE_PROG(addresses);

char LICENSE[] SEC("license") = "Dual MIT/GPL";
