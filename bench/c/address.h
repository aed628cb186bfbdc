// Shared by the C peers that count: the source address as the key of a map.
#pragma once

#include "frame.h"

// An address of either family: 4 or 6, then its bytes as the frame has them (IPv4: zeros before them).
struct address {
	__u64 family;
	__u64 high;
	__u64 low;
};

// Puts a frame's source address into `key`; false if it has none. IPv4 with the whole of its options, or IPv6.
static __always_inline int source(struct address *key, const __u8 *data, const __u8 *end)
{
	const __u8 *ip;

	if (!WITHIN(ip, data, end, ETHERNET, 20))
		return 0;
	if (likely(LOAD16(data + 12) == bpf_htons(0x0800))) {
		__u32 header = (ip[0] & 15) * 4;

		if (ip[0] >> 4 != 4 || header < 20 || ip + header > end)
			return 0;
		key->family = 4;
		key->high = 0;
		key->low = LOAD32(ip + 12);
		return 1;
	}
	if (LOAD16(data + 12) == bpf_htons(0x86dd) && ip + 40 <= end && ip[0] >> 4 == 6) {
		key->family = 6;
		key->high = LOAD64(ip + 8);
		key->low = LOAD64(ip + 16);
		return 1;
	}
	return 0;
}
