// Shared by the two User-Agent peers: the set of agents, and what is a header's name.
#pragma once

#include "frame.h"
#include "hash.h"
#include "steps.h"

enum { AGENT_WORDS = 32, NEEDLE = 12, MAX_BLANKS = 64 };

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

// `\nUser-Agent:`, in any case: needs 12 bytes at `at`, of which the first is the line feed.
static __always_inline int is_header(const __u8 *at)
{
	return (LOAD64(at + 1) | 0x2020200020202020ULL) == 0x6567612d72657375ULL /* user-age */ &&
	       (LOAD32(at + 8) | 0x00202020) == 0x3a746e65 /* ent: */;
}

static __always_inline int is_blank(__u8 byte)
{
	return byte == ' ' || byte == '\t';
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

// The hash of the `size` bytes at `text`.
__noinline __u64 hash_of(const struct copy *copy, __u32 start, __u32 size)
{
	__u64 hash = HASH_START;

	if (!copy || size > AGENT_WORDS * 8)
		return 0;
	const __u8 *text = copy->bytes + (start & (COPIED - 1));

	for (__u32 i = 0; i < AGENT_WORDS * 8; i += 8) {
		if (i + 8 > size)
			return i == size ? hash : hash_word(hash, low_bytes(LOAD64(text + i), size & 7));
		hash = hash_word(hash, LOAD64(text + i));
	}
	return hash;
}

// The size of the text of `size` bytes at `start` without blanks at its end.
__noinline __u32 without_blanks(const struct copy *copy, __u32 start, __u32 size)
{
	if (!copy)
		return 0;
	const __u8 *text = copy->bytes + (start & (COPIED - 1));

	for (__u32 i = 0; i < MAX_BLANKS; i++) {
		if (!size || !is_blank(text[(size - 1) & (AGENT_WORDS * 8 - 1)]))
			break;
		size--;
	}
	return size;
}

// Where the blanks at `start` end.
__noinline __u32 behind_blanks(const struct copy *copy, __u32 start)
{
	if (!copy)
		return 0;
	for (__u32 i = 0; i < MAX_BLANKS; i++) {
		if (!is_blank(copy->bytes[start & (COPIED - 1)]))
			break;
		start++;
	}
	return start;
}

// Whether the agent that starts at `start`, up to a LF within the first `length` bytes, without blanks at its end and a CR before
// the LF, is in the set. No agent in the set has a CR in it, so one with a lone CR need not be read to its end.
static __always_inline int listed(const struct copy *copy, __u32 start, __u32 length)
{
	__u64 hash = HASH_START;
	__u32 size = 0;
	const __u8 *text = copy->bytes + (start & (COPIED - 1));

	for (__u32 i = 0; i < AGENT_WORDS * 8; i += 8) {
		__u64 word = LOAD64(text + i), ends = bytes_equal(word, '\r') | bytes_equal(word, '\n');

		size = i;
		if (ends) {
			__u32 last = first_byte(ends) & 7;

			size += last;
			if (text[i + last] == '\r' && text[i + last + 1] != '\n')
				return 0;
			if (last)
				hash = hash_word(hash, low_bytes(word, last));
			goto found;
		}
		hash = hash_word(hash, word);
	}
	return 0;
found:
	if (start + size + 1 > length || (text[size & (AGENT_WORDS * 8 - 1)] == '\r' && start + size + 2 > length))
		return 0;
	if (unlikely(size && is_blank(text[(size - 1) & (AGENT_WORDS * 8 - 1)]))) {
		size = without_blanks(copy, start, size);
		hash = hash_of(copy, start, size);
	}
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
