// Shared by the two User-Agent peers: the set of agents, and searching 8 bytes a step.
#pragma once

#include "frame.h"
#include "hash.h"

enum { AGENT_WORDS = 32, NEEDLE = 11 };

struct agent {
	__u64 length;
	__u64 words[AGENT_WORDS];
};

// Filled from user space, under the agent's hash.
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 128);
	__type(key, __u64);
	__type(value, struct agent);
} agents SEC(".maps");

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

// `User-Agent:` followed by what %s matches: needs 12 bytes at `at`.
static __always_inline int is_header(const __u8 *at)
{
	return LOAD64(at) == 0x6567412d72657355ULL /* User-Age */ && LOAD32(at + 7) == 0x3a746e65 /* ent: */ &&
	       (at[NEEDLE] == ' ' || (__u8)(at[NEEDLE] - 9) < 5);
}

// The low `bytes` bytes of a word, 0 to 7.
static __always_inline __u64 low_bytes(__u64 word, __u32 bytes)
{
	return word & ((1ULL << (bytes * 8)) - 1);
}

enum { COPIED = 2048, SPACE = 4096 };

struct copy {
	__u8 bytes[SPACE];
	__u64 zero; // for an index that the verifier takes for unknown: it then sees that the loop's steps are alike
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct copy);
} copies SEC(".maps");

// No agent in the set has a CR in it, so one with a lone CR need not be read to its end.
//
// Whether the agent that starts at `start`, up to a CR LF within the first `length` bytes, is in the set.
static __always_inline int listed(const struct copy *copy, __u32 start, __u32 length)
{
	__u64 hash = HASH_START;
	__u32 size = 0;
	const __u8 *text = copy->bytes + (start & (COPIED - 1));

	for (__u32 i = 0; i < AGENT_WORDS * 8; i += 8) {
		__u64 word = LOAD64(text + i), ends = bytes_equal(word, '\r');

		size = i;
		if (ends) {
			__u32 last = first_byte(ends) & 7;

			size += last;
			if (text[i + last + 1] != '\n')
				return 0;
			if (last)
				hash = hash_word(hash, low_bytes(word, last));
			goto found;
		}
		hash = hash_word(hash, word);
	}
	return 0;
found:
	if (start + size + 2 > length)
		return 0;
	const struct agent *agent = bpf_map_lookup_elem(&agents, &hash);
	if (!agent || agent->length != size)
		return 0;
	for (__u32 i = 0; i < AGENT_WORDS; i++) {
		if (i * 8 + 8 > size)
			return i * 8 == size || agent->words[i] == low_bytes(LOAD64(text + i * 8), size & 7);
		if (agent->words[i] != LOAD64(text + i * 8))
			return 0;
	}
	return 1;
}
