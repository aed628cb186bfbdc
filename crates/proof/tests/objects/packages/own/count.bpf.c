/* Counts packets and their bytes by a number; drops those beyond a limit. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

struct stat {
	__u64 packets, bytes;
};

bpf_map(hits, HASH, __u32, struct stat, 16);

HIKE_PROG(count)
{
	__u32 key = HVM_ARG2;
	__u64 limit = HVM_ARG3;
	__u64 length = (long)ctx->data_end - (long)ctx->data;
	struct stat *stat = bpf_map_lookup_elem(&hits, &key);

	if (!stat) {
		struct stat first = { 1, length };

		bpf_map_update_elem(&hits, &key, &first, BPF_ANY);
		HVM_RET = 1;
		return HIKE_XDP_VM;
	}
	stat->packets++;
	stat->bytes += length;
	HVM_RET = stat->packets;
	return limit && stat->packets > limit ? XDP_DROP : HIKE_XDP_VM;
}
EXPORT_HIKE_PROG(count);
EXPORT_HIKE_PROG_MAP(count, hits);

char LICENSE[] SEC("license") = "Dual MIT/GPL";
