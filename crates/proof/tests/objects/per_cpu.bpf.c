/* Maps with values of all CPUs, and with values of each. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

struct pair {
	__u32 first;
	__s16 second;
};

bpf_map(plain_hash, HASH, __u32, __u32, 16);
bpf_map(own_hash, PERCPU_HASH, __u32, __u32, 16);
bpf_map(own_lru, LRU_PERCPU_HASH, __u32, __u64, 64);
bpf_map(own_array, PERCPU_ARRAY, __u32, __u16, 4);
bpf_map(own_pairs, PERCPU_HASH, __u32, struct pair, 16);

__section("xdp") int entry(struct xdp_md *ctx)
{
	__u32 key = 3;
	__u32 *plain = bpf_map_lookup_elem(&plain_hash, &key), *hash = bpf_map_lookup_elem(&own_hash, &key);
	__u64 *lru = bpf_map_lookup_elem(&own_lru, &key);
	__u16 *array = bpf_map_lookup_elem(&own_array, &key);
	struct pair *pair = bpf_map_lookup_elem(&own_pairs, &key);

	return plain && hash && lru && array && pair ? *hash : 0;
}

char LICENSE[] SEC("license") = "GPL";
