// Drops a TLS ClientHello that asks for one of many server names, kept in a hash map under a 64-bit hash of the name; the
// value holds the name, which is compared. The map is filled from user space.
#include "tls.h"
#include "hash.h"

struct entry {
	__u64 length;
	__u64 words[NAME_WORDS];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, __u64);
	__type(value, struct entry);
} names SEC(".maps");

SEC("xdp") int sni_hash_u64(struct xdp_md *ctx)
{
	const __u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 length, offset = tcp_payload(data, end, 443);
	__u64 words[NAME_WORDS], hash = HASH_START;

	if (!offset)
		return XDP_PASS;
	offset = server_name(data, end, offset, &length);
	if (!offset || !without_dot(data, end, offset, &length) || !length || length > sizeof words)
		return XDP_PASS;
	if (!padded_name(words, data, end, offset, length))
		return XDP_PASS;
#pragma unroll
	for (__u32 i = 0; i < NAME_WORDS; i++) {
		if (length <= i * 8)
			break;
		hash = hash_word(hash, words[i]);
	}
	const struct entry *entry = bpf_map_lookup_elem(&names, &hash);
	if (!entry || entry->length != length)
		return XDP_PASS;
#pragma unroll
	for (__u32 i = 0; i < NAME_WORDS; i++) {
		if (length <= i * 8)
			break;
		if (words[i] != entry->words[i])
			return XDP_PASS;
	}
	return XDP_DROP;
}

char _license[] SEC("license") = "GPL";
