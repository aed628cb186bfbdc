// Blocks prefixes, ports that reflectors answer from, and what a source sends beyond its share, as examples/ddos.lua.
#include "address.h"

enum { BLOCKED, REFLECTED, TOO_MANY, REASONS };

// In ns: what a frame costs, and the most that a source can have: 1,000 frames a second, 2,000 at once.
static const __u64 COST = 1000000, FULL = 2000 * 1000000ULL;

struct prefix4 {
	__u32 length;
	__u32 address;
};

struct prefix6 {
	__u32 length;
	__u8 address[16];
};

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, 1000000);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct prefix4);
	__type(value, __u64);
} blocked SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, 100000);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct prefix6);
	__type(value, __u64);
} blocked6 SEC(".maps");

// By port, as the frame has it.
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, __u8);
} reflectors SEC(".maps");

struct budget {
	__u64 credit;
	__u64 seen;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1000000);
	__type(key, struct address);
	__type(value, struct budget);
} sources SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, REASONS);
	__type(key, __u32);
	__type(value, __u64);
} dropped SEC(".maps");

static __always_inline int drop(__u32 reason)
{
	__u64 *count = bpf_map_lookup_elem(&dropped, &reason);

	if (count)
		++*count;
	return XDP_DROP;
}

static __always_inline int is_blocked(const struct address *address)
{
	__u64 *hits;

	if (address->family == 4) {
		struct prefix4 prefix = { .length = 32, .address = address->low };

		hits = bpf_map_lookup_elem(&blocked, &prefix);
	} else {
		struct prefix6 prefix = { .length = 128 };

		__builtin_memcpy(prefix.address, &address->high, 16);
		hits = bpf_map_lookup_elem(&blocked6, &prefix);
	}
	if (!hits)
		return 0;
	__sync_fetch_and_add(hits, 1);
	return 1;
}

static __always_inline int is_reflected(const __u8 *data, const __u8 *end)
{
	__u32 offset = transport(data, end, PROTO_UDP), port;
	const __u8 *udp, *found;

	if (!offset || !WITHIN(udp, data, end, offset, 8))
		return 0;
	port = LOAD16(udp);
	found = bpf_map_lookup_elem(&reflectors, &port);
	return found && *found;
}

SEC("xdp") int ddos(struct xdp_md *ctx)
{
	const __u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct address address;
	struct budget *budget;
	__u64 now, credit;

	if (!source(&address, data, end))
		return XDP_PASS;
	if (is_blocked(&address))
		return drop(BLOCKED);
	if (is_reflected(data, end))
		return drop(REFLECTED);
	now = bpf_ktime_get_ns();
	budget = bpf_map_lookup_elem(&sources, &address);
	if (!budget) {
		struct budget first = { .credit = FULL - COST, .seen = now };

		bpf_map_update_elem(&sources, &address, &first, BPF_ANY);
		return XDP_PASS;
	}
	credit = budget->credit + (now - budget->seen);
	if (credit > FULL)
		credit = FULL;
	budget->seen = now;
	if (credit < COST) {
		budget->credit = credit;
		return drop(TOO_MANY);
	}
	budget->credit = credit - COST;
	return XDP_PASS;
}

char _license[] SEC("license") = "GPL";
