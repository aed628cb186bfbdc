// HIKe's virtual machine and four programs for it, out of a checkout among the folders for headers: nothing of theirs is here. They are one
// object, so that they have their maps in common. See crates/bench/src/hike.rs.
#define _MAP_H
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "hike_vm_common.h"

// Maps as libbpf takes them from 1.0 on.
#define bpf_map(name_, type_, key_, value_, entries)   \
	struct {                                       \
		__uint(type, BPF_MAP_TYPE_##type_);    \
		__uint(max_entries, entries);          \
		__type(key, key_);                     \
		__type(value, value_);                 \
	} name_ SEC(".maps")
#include "hike_vm.h"

// Nobody reads what they export; and each has its licence.
#undef EXPORT_HIKE_PROG_MAP
#undef EXPORT_HIKE_MAP
#undef EXPORT_HIKE_CONST
#define EXPORT_HIKE_PROG_MAP(program, map)
#define EXPORT_HIKE_MAP(program, map)
#define EXPORT_HIKE_CONST(name)
#define LICENSE EVAL_CAT_2(license_, __COUNTER__)

#include "ip6_simple_classifier.bpf.c"
#include "hikevm.bpf.c"
#include "hike_drop.bpf.c"
#include "monitor.bpf.c"
#include "ip6_hset_srcdst.bpf.c"
