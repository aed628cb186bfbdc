// Where frames end: drops them, and looks at them first when it is told to.
#include "frame.h"

enum { WORDS = 8 };

// Not 0: look at the frames.
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} looks SEC(".maps");

// Frames that went to a MAC address (its bytes as the low ones of a little-endian number) out of an interface (the two above).
struct seen {
	__u64 frames;
	__u64 bad_checksums;
	// The sum of a hash of each frame's first 64 bytes: it does not depend on their order.
	__u64 digest;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u64);
	__type(value, struct seen);
} seen SEC(".maps");

static __always_inline int is_wrong(const __u8 *ip)
{
	__u32 sum = 0;

	for (int i = 0; i < 20; i += 2)
		sum += LOAD16(ip + i);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return sum != 0xffff;
}

SEC("xdp") int sink(struct xdp_md *ctx)
{
	const __u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 zero = 0, *is_on = bpf_map_lookup_elem(&looks, &zero);
	struct seen none = {}, *found;
	__u64 key, hash = 0;

	if (!is_on || !*is_on || data + 8 * WORDS > end || LOAD16(data + 12) != bpf_htons(0x0800))
		return XDP_DROP;
	key = (LOAD64(data) & 0xffffffffffff) | (__u64)ctx->ingress_ifindex << 48;
	found = bpf_map_lookup_elem(&seen, &key);
	if (!found) {
		bpf_map_update_elem(&seen, &key, &none, BPF_NOEXIST);
		found = bpf_map_lookup_elem(&seen, &key);
		if (!found)
			return XDP_DROP;
	}
	for (int i = 0; i < WORDS; i++)
		hash = (hash ^ LOAD64(data + 8 * i)) * 0x9e3779b97f4a7c15;
	__sync_fetch_and_add(&found->frames, 1);
	__sync_fetch_and_add(&found->bad_checksums, is_wrong(data + ETHERNET));
	__sync_fetch_and_add(&found->digest, hash);
	return XDP_DROP;
}

char _license[] SEC("license") = "GPL";
