// Shared by the C peers: finds the server name in a TLS ClientHello (RFC 8446 § 4.1.2, RFC 6066 § 3).
#pragma once

#include "frame.h"

enum { MAX_EXTENSIONS = 32 };

// Steps over a vector whose length field of `bytes` bytes is at `offset`; leaves the caller when it is not in the frame.
#define SKIP_VECTOR(offset, bytes, length)                                     \
	do {                                                                   \
		if (!WITHIN(at, data, end, offset, bytes))                     \
			return 0;                                              \
		offset += bytes + (length);                                    \
		if (offset > MAX_OFFSET)                                       \
			return 0;                                              \
	} while (0)

// The offset of the first host name in the ClientHello that starts at `offset`, or 0. `*length` gets its length, which is
// not 0; whether the whole name is in the frame is for the caller to check.
static __always_inline __u32 server_name(const __u8 *data, const __u8 *end, __u32 offset, __u32 *length)
{
	const __u8 *at;

	if (!WITHIN(at, data, end, offset, 44) || at[0] != 22 || at[1] != 3 || at[5] != 1)
		return 0;
	offset += 44 + at[43];
	SKIP_VECTOR(offset, 2, bpf_ntohs(LOAD16(at)));
	SKIP_VECTOR(offset, 1, at[0]);
	if (!WITHIN(at, data, end, offset, 2))
		return 0;
	offset += 2;
	__u32 stop = offset + bpf_ntohs(LOAD16(at));

	for (int i = 0; i < MAX_EXTENSIONS; i++) {
		if (offset >= stop || offset > MAX_OFFSET || !WITHIN(at, data, end, offset, 4))
			return 0;
		if (LOAD16(at) == 0) {
			if (at + 9 > end || at[6] != 0)
				return 0;
			*length = bpf_ntohs(LOAD16(at + 7));
			return *length ? offset + 9 : 0;
		}
		offset += 4 + bpf_ntohs(LOAD16(at + 2));
	}
	return 0;
}

// Takes a dot at the end off the name of `*length` bytes (not 0) at `offset`; false if the name is not in the frame.
static __always_inline int without_dot(const __u8 *data, const __u8 *end, __u32 offset, __u32 *length)
{
	const __u8 *at;

	offset += *length - 1;
	if (offset > MAX_OFFSET || !WITHIN(at, data, end, offset, 1))
		return 0;
	if (unlikely(*at == '.'))
		--*length;
	return 1;
}

// The eight bytes of a word, upper-case letters made lower-case.
static __always_inline __u64 lower(__u64 word)
{
	const __u64 ones = 0x0101010101010101ULL;
	__u64 low = word & 0x7f * ones;
	__u64 from_a = low + (0x80 - 'A') * ones, behind_z = low + (0x7f - 'Z') * ones;

	return word | (from_a & ~behind_z & ~word & 0x80 * ones) >> 2;
}

enum { NAME_WORDS = 8 };

// Puts the name of `length` bytes (1 to 64) at `offset` into `words`, in lower case, padded with zeros; false if it is not in
// the frame.
//
// Mostly 64 bytes follow in the frame, so that whole words can be read and cut; otherwise the name is read by bytes.
static __always_inline int padded_name(__u64 *words, const __u8 *data, const __u8 *end, __u32 offset, __u32 length)
{
	const __u8 *at = data + offset;

	asm volatile("" : "+r"(at)); // one pointer for check and read
	if (likely(at + NAME_WORDS * 8 <= end)) {
#pragma unroll
		for (__u32 i = 0; i < NAME_WORDS; i++) {
			__u32 rest = length - i * 8;

			words[i] = 0;
			if (length >= i * 8 + 8)
				words[i] = lower(LOAD64(at + i * 8));
			else if (length > i * 8)
				words[i] = lower(LOAD64(at + i * 8) & ((1ULL << (rest * 8)) - 1));
		}
		return 1;
	}
	__u8 *bytes = (__u8 *)words;

	__builtin_memset(words, 0, NAME_WORDS * 8);
	for (__u32 i = 0; i < NAME_WORDS * 8; i++) {
		if (i >= length)
			break;
		if (at + i + 1 > end)
			return 0;
		bytes[i] = at[i];
	}
#pragma unroll
	for (__u32 i = 0; i < NAME_WORDS; i++)
		words[i] = lower(words[i]);
	return 1;
}
