// Shared by the C peers that search 8 bytes a step.
#pragma once

#include <linux/types.h>
#include <bpf/bpf_helpers.h>

#define EVERY_BYTE(c) (0x0101010101010101ULL * (__u8)(c))

// Has 0x80 in each byte of the result where `word` has the byte `c`. Bytes above the first such one may be wrong.
static __always_inline __u64 bytes_equal(__u64 word, __u8 c)
{
	__u64 difference = word ^ EVERY_BYTE(c);

	return (difference - EVERY_BYTE(1)) & ~difference & EVERY_BYTE(0x80);
}

// The index of the lowest byte that has its 0x80 set; `mask` is not 0.
static __always_inline __u32 first_byte(__u64 mask)
{
	return ((mask & -mask) >> 7) * 0x0001020304050607ULL >> 56;
}
