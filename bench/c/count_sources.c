// Counts frames by source address, and drops them.
#include "address.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, struct address);
	__type(value, __u64);
} hits SEC(".maps");

SEC("xdp") int count_sources(struct xdp_md *ctx)
{
	const __u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct address key;
	__u64 one = 1, *count;

	if (!source(&key, data, end))
		return XDP_PASS;
	count = bpf_map_lookup_elem(&hits, &key);
	if (unlikely(!count)) {
		if (!bpf_map_update_elem(&hits, &key, &one, BPF_NOEXIST))
			return XDP_DROP;
		count = bpf_map_lookup_elem(&hits, &key); // another CPU was faster, or the map is full
		if (!count)
			return XDP_PASS;
	}
	__sync_fetch_and_add(count, 1);
	return XDP_DROP;
}

char _license[] SEC("license") = "GPL";
