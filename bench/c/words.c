// Drops UDP datagrams whose most frequent word is "offer".
//
// A word is known by a 64-bit hash; its first eight bytes, as a number, order it against "offer". The table is in a per-CPU
// array with open addressing; a slot of an earlier packet is free.
#include "frame.h"

enum { PAYLOAD = 42, SLOTS = 64, PROBES = 16 };

#define OFFER 0x6f66666572000000ULL

struct slot {
	__u64 packet, hash, prefix, count;
};

struct table {
	__u64 packet;
	struct slot slots[SLOTS];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct table);
} tables SEC(".maps");

// Read at run time, so that the verifier does not follow each turn of a loop by its number.
volatile __u32 zero;

// Whether the loop may go on: the kernel ends it after some eight million turns.
#define CAN_LOOP                                                            \
	({                                                                  \
		__label__ give_up, go_on;                                   \
		int may = 1;                                                \
		asm volatile goto("may_goto %l[give_up]" : : : : give_up); \
		goto go_on;                                                 \
	give_up:                                                            \
		may = 0;                                                    \
	go_on:;                                                             \
		may;                                                        \
	})

static __always_inline int is_word(__u8 c)
{
	__u8 letter = (c | 32) - 'a', digit = c - '0';

	return letter < 26 || digit < 10;
}

// Counts a word. Global, so that the verifier looks at it once and not in each turn of the loop. Always 0.
__attribute__((noinline)) int count(__u64 hash, __u64 prefix)
{
	__u32 key = 0;
	struct table *table = bpf_map_lookup_elem(&tables, &key);

	if (!table)
		return 0;
	for (int i = 0; i < 7 && !(prefix >> 56); i++)
		prefix <<= 8;
	for (__u32 probe = 0; probe < PROBES; probe++) {
		struct slot *slot = &table->slots[(hash + probe) % SLOTS];

		if (slot->packet != table->packet) {
			*slot = (struct slot){ table->packet, hash, prefix, 1 };
			return 0;
		}
		if (slot->hash == hash) {
			slot->count++;
			return 0;
		}
	}
	return 0;
}

// Whether no word comes before "offer": is more frequent, or as frequent and less.
static __always_inline int offer_is_first(const struct table *table)
{
	__u64 offers = 0;

	for (int i = 0; i < SLOTS; i++)
		if (table->slots[i].packet == table->packet && table->slots[i].prefix == OFFER)
			offers = table->slots[i].count;
	if (!offers)
		return 0;
	for (int i = 0; i < SLOTS; i++) {
		const struct slot *slot = &table->slots[i];

		if (slot->packet == table->packet &&
		    (slot->count > offers || (slot->count == offers && slot->prefix < OFFER)))
			return 0;
	}
	return 1;
}

SEC("xdp") int words(struct xdp_md *ctx)
{
	const __u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end, *at;
	__u32 key = 0;
	struct table *table = bpf_map_lookup_elem(&tables, &key);
	__u64 hash = 0, prefix = 0;

	if (!table)
		return XDP_PASS;
	table->packet++;
	for (__u32 i = zero; i < MAX_OFFSET && CAN_LOOP; i++) {
		__u8 c = WITHIN(at, data, end, PAYLOAD + i, 1) ? *at : 0;

		if (is_word(c)) {
			hash = (hash ^ c) * 0x9e3779b97f4a7c15ULL;
			hash ^= hash >> 29;
			prefix = prefix >> 56 ? prefix : prefix << 8 | c;
		} else if (prefix) {
			count(hash, prefix);
			hash = prefix = 0;
		}
		if (data + PAYLOAD + i >= end)
			break;
	}
	return offer_is_first(table) ? XDP_DROP : XDP_PASS;
}

char _license[] SEC("license") = "GPL";
