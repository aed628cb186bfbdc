// Shared by programs that send frames out of one interface, which the runner chooses.
#pragma once

#include "frame.h"

// Index of the interface.
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} to SEC(".maps");
