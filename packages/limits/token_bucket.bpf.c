/* token_bucket(key, rate, burst): each key, a number, has a bucket with `burst` tokens, which gets `rate` tokens a second until it is full
 * again. Takes one out. Gives 0, or 1 where there is none: the packet is more than its share. With a rate of 0 there are as many tokens as at
 * first. Rate and burst have 32 bits.
 *
 * Two CPUs that look at a bucket at once may take one token for both. */
#include "../frame.h"

/* Credit is counted in tokens of this many parts, and time in nanoseconds: a rate of one token a second gives one part each nanosecond. */
#define TOKEN 1000000000ULL

struct bucket {
	__u64 credit, seen;
};

bpf_map(buckets, LRU_HASH, __u64, struct bucket, 65536);

HIKE_PROG(token_bucket)
{
	__u64 key = HVM_ARG2, rate = __to_u32(HVM_ARG3), full = __to_u32(HVM_ARG4) * TOKEN;
	__u64 now = bpf_ktime_get_ns();
	struct bucket *bucket = bpf_map_lookup_elem(&buckets, &key);
	__u64 credit, elapsed;

	if (!bucket) {
		struct bucket first = { full < TOKEN ? 0 : full - TOKEN, now };

		bpf_map_update_elem(&buckets, &key, &first, BPF_ANY);
		HVM_RET = full < TOKEN;
		return HIKE_XDP_VM;
	}
	/* Another CPU may have seen it later. */
	elapsed = now > bucket->seen ? now - bucket->seen : 0;
	credit = bucket->credit;
	/* The product has 64 bits as long as it is no more than what fills the bucket. */
	if (rate && elapsed > full / rate)
		credit = full;
	else
		credit += elapsed * rate;
	if (credit > full)
		credit = full;
	HVM_RET = credit < TOKEN;
	bucket->credit = credit < TOKEN ? credit : credit - TOKEN;
	bucket->seen = now;
	return HIKE_XDP_VM;
}
EXPORT_HIKE_PROG_4(token_bucket, __u64, key, __u32, rate, __u32, burst);
EXPORT_HIKE_PROG_MAP(token_bucket, buckets);

char LICENSE[] SEC("license") = "Dual MIT/GPL";
