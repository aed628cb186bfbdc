/* prefix(parts): the number that the map `prefixes` has for the longest prefix of the packet's source address of IPv6 (parts 1) or of its
 * destination (2); 0 where it has none, and for packets that are none of IPv6. A script fills it by
 *
 *     prefix[prefixes] = { (32, '2001:db8::'): (7), (128, 'fc00::1'): (8) }
 */
#include "../frame.h"

struct prefix {
	__u32 length;
	__u8 address[16];
};

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, 16384);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct prefix);
	__type(value, __u32);
} prefixes SEC(".maps");

HIKE_PROG(prefix)
{
	struct prefix key = { .length = 128 };
	struct addresses addresses;
	__u32 *found;

	if (HVM_ARG2 == BOTH || !addresses_of(ctx, HVM_ARG2, &addresses))
		return HIKE_XDP_VM;
	if (HVM_ARG2 == SOURCE)
		memcpy(key.address, addresses.source, sizeof(key.address));
	else
		memcpy(key.address, addresses.destination, sizeof(key.address));
	found = bpf_map_lookup_elem(&prefixes, &key);
	HVM_RET = found ? *found : 0;
	return HIKE_XDP_VM;
}
EXPORT_HIKE_PROG_2(prefix, __u8, parts);
EXPORT_HIKE_PROG_MAP(prefix, prefixes);

char LICENSE[] SEC("license") = "Dual MIT/GPL";
