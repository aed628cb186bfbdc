// The 64-bit hash under which a string is kept in a map, and the string that the map's value holds to compare with. The
// runner computes the same hash (crates/bench/src/lists.rs).
#pragma once

#include <linux/types.h>

#define HASH_START 0x9e3779b97f4a7c15ULL
#define HASH_FACTOR 0xff51afd7ed558ccdULL

static __always_inline __u64 hash_word(__u64 hash, __u64 word)
{
	return (hash ^ word) * HASH_FACTOR;
}
