// Counts packets and bytes by source address, and drops the frames.
#include "address.h"

// As large as Moonhook's record, which says which of its fields are there.
struct flow {
	__u64 fields;
	__u64 bytes;
	__u64 pkts;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, struct address);
	__type(value, struct flow);
} flows SEC(".maps");

SEC("xdp") int flow_records(struct xdp_md *ctx)
{
	const __u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct address key;
	struct flow *flow;

	if (!source(&key, data, end))
		return XDP_PASS;
	flow = bpf_map_lookup_elem(&flows, &key);
	if (unlikely(!flow)) {
		struct flow first = { .fields = 3 };

		bpf_map_update_elem(&flows, &key, &first, BPF_NOEXIST);
		flow = bpf_map_lookup_elem(&flows, &key);
		if (!flow)
			return XDP_PASS;
	}
	__sync_fetch_and_add(&flow->pkts, 1);
	__sync_fetch_and_add(&flow->bytes, end - data);
	return XDP_DROP;
}

char _license[] SEC("license") = "GPL";
