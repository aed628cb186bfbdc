/* Functions that handlers in Lua call, and their maps. */
#include <linux/bpf.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>

struct stat {
	__u64 packets;
	__u32 bytes;
	__s16 last;
};

struct pair {
	__u16 from;
	__u8 to[2];
};

struct point {
	__s32 x;
	struct {
		__u8 y[3];
	} inner;
	bool up;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, __u32);
	__type(value, struct stat);
	__uint(max_entries, 4);
} hits SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, struct pair);
	__type(value, __s32);
	__uint(max_entries, 64);
} pairs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, __u64);
	__uint(max_entries, 4);
} config SEC(".maps");

static __u32 calls;
static const __u8 table[4] = { 3, 1, 4, 1 };

__u64 count(struct xdp_md *ctx, __u32 key)
{
	__u32 length = (long)ctx->data_end - (long)ctx->data;
	struct stat *stat = bpf_map_lookup_elem(&hits, &key);

	calls++;
	if (!stat) {
		struct stat first = { 1, length, -1 };

		bpf_map_update_elem(&hits, &key, &first, BPF_ANY);
		return 1;
	}
	stat->packets++;
	stat->bytes += length;
	return stat->packets;
}

int move(struct point *point, __s8 by)
{
	if (!point)
		return -1;
	point->x += by;
	point->inner.y[2] = point->x;
	point->up = !point->up;
	return calls;
}

__s64 sum(const struct pair *pair)
{
	return pair ? -(__s64)pair->from + pair->to[0] + table[pair->to[1] & 3] : 0;
}

bool even(__u16 number)
{
	return number % 2 == 0;
}

__u32 byte_at(struct xdp_md *ctx, __u16 offset)
{
	unsigned char *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	if (offset > 4000 || data + offset + 1 > end)
		return 1000;
	return data[offset];
}

void *nowhere(void)
{
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
