// Drops a TLS ClientHello that asks for one of many server names, kept in a hash map whose keys are those of a shared table:
// length, name, zeros. The map is filled from user space.
#include "tls.h"

// 4 bytes of length, the name padded with zeros to 64 bytes, 4 zeros.
enum { KEY_WORDS = NAME_WORDS + 1 };

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(key_size, KEY_WORDS * 8);
	__uint(value_size, 8);
} blocked SEC(".maps");

// The key of the name of `length` bytes (1 to 64) at `offset`; false if the name is not in the frame. Whole words are read
// where the key has them, 4 bytes before the name's, and cut.
static __always_inline int name_key(__u64 *key, const __u8 *data, const __u8 *end, __u32 offset, __u32 length)
{
	const __u8 *at = data + offset;

	asm volatile("" : "+r"(at)); // one pointer for check and read
	if (likely(at + NAME_WORDS * 8 <= end)) {
		__u32 first = LOAD32(at);

		if (length < 4)
			first &= (1U << (length * 8)) - 1;
		key[0] = length | (__u64)first << 32;
#pragma unroll
		for (__u32 i = 1; i <= NAME_WORDS; i++) {
			__u32 start = i * 8 - 4;

			key[i] = 0;
			if (i == NAME_WORDS) {
				if (length == NAME_WORDS * 8)
					key[i] = LOAD32(at + start);
				else if (length > start)
					key[i] = LOAD32(at + start) & ((1U << ((length - start) * 8)) - 1);
			} else if (length >= start + 8)
				key[i] = LOAD64(at + start);
			else if (length > start)
				key[i] = LOAD64(at + start) & ((1ULL << ((length - start) * 8)) - 1);
		}
		return 1;
	}
	__u8 *bytes = (__u8 *)key;

	__builtin_memset(key, 0, KEY_WORDS * 8);
	key[0] = length;
	for (__u32 i = 0; i < NAME_WORDS * 8; i++) {
		if (i >= length)
			return 1;
		if (at + i + 1 > end)
			return 0;
		bytes[4 + i] = at[i];
	}
	return 1;
}

SEC("xdp") int shared_names(struct xdp_md *ctx)
{
	const __u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 length, offset = tcp_payload(data, end, 443);
	__u64 key[KEY_WORDS], *blocks;

	if (!offset)
		return XDP_PASS;
	offset = server_name(data, end, offset, &length);
	if (!offset || length > NAME_WORDS * 8 || !name_key(key, data, end, offset, length))
		return XDP_PASS;
	blocks = bpf_map_lookup_elem(&blocked, key);
	return blocks && *blocks ? XDP_DROP : XDP_PASS;
}

char _license[] SEC("license") = "GPL";
