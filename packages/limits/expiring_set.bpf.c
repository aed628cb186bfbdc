/* expiring_set(action, parts, seconds): a set of addresses of IPv6: of sources (parts 1), destinations (2), or pairs (3). Action 0 looks
 * the packet's up, and gives whether they are in the set; action 1 adds them for so many seconds, or for ever (0), and gives whether they were
 * in it before. Gives 0 for packets that are none of IPv6. Where there is no room, those go that were not used for long. */
#include "../frame.h"

#define ADD 1
#define SECOND 1000000000ULL
/* Of an address that stays. */
#define NEVER 0

bpf_map(members, LRU_HASH, struct addresses, __u64, 65536);

HIKE_PROG(expiring_set)
{
	__u64 now = bpf_ktime_get_ns(), seconds = __to_u32(HVM_ARG4), *end;
	struct addresses key;

	if (!addresses_of(ctx, HVM_ARG3, &key))
		return HIKE_XDP_VM;
	end = bpf_map_lookup_elem(&members, &key);
	if (end && *end != NEVER && *end <= now) {
		bpf_map_delete_elem(&members, &key);
		end = NULL;
	}
	HVM_RET = end != NULL;
	if (HVM_ARG2 == ADD) {
		__u64 until = seconds ? now + seconds * SECOND : NEVER;

		bpf_map_update_elem(&members, &key, &until, BPF_ANY);
	}
	return HIKE_XDP_VM;
}
EXPORT_HIKE_PROG_4(expiring_set, __u8, action, __u8, parts, __u32, seconds);
EXPORT_HIKE_PROG_MAP(expiring_set, members);

char LICENSE[] SEC("license") = "Dual MIT/GPL";
