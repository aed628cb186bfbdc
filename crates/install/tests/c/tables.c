#include "common.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 100000);
	__type(key, __u64);
	__type(value, __u64);
} many SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 2000);
	__type(key, __u64);
	__type(value, __u32);
} each SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 512);
	__type(key, __u64);
	__type(value, __u64);
} recent SEC(".maps");

struct prefix {
	__u32 length;
	__u8 address[4];
};

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, 3000);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct prefix);
	__type(value, __u64);
} prefixes SEC(".maps");

SEC("xdp") int look(struct xdp_md *ctx)
{
	__u64 key = 0;

	return bpf_map_lookup_elem(&many, &key) || bpf_map_lookup_elem(&each, &key) ||
			       bpf_map_lookup_elem(&recent, &key) || bpf_map_lookup_elem(&prefixes, &key) ?
		       XDP_DROP :
		       XDP_PASS;
}
