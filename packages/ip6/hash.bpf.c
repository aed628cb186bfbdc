/* hash(parts): a number of 64 bits made of the packet's source address of IPv6 (parts 1), its destination (2), or both (3): a key for token
 * buckets. Who knows how it is made can make addresses that have the same. 0 for packets that are none of IPv6. */
#include "../frame.h"

/* As FNV-1a does it, but a word of 64 bits at a time; what that leaves in the upper half also counts in the lower one. */
#define BASIS 0xcbf29ce484222325ULL
#define PRIME 0x100000001b3ULL

HIKE_PROG(hash)
{
	struct addresses key;
	__be64 words[4];
	__u64 hash = BASIS;

	if (!addresses_of(ctx, HVM_ARG2, &key))
		return HIKE_XDP_VM;
	memcpy(words, key.source, sizeof(words));
	for (int index = 0; index < 4; index++)
		hash = (hash ^ bpf_be64_to_cpu(words[index])) * PRIME;
	HVM_RET = hash ^ hash >> 32;
	return HIKE_XDP_VM;
}
EXPORT_HIKE_PROG_2(hash, __u8, parts);

char LICENSE[] SEC("license") = "Dual MIT/GPL";
