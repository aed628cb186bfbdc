// Drops a TLS ClientHello that asks for one of many server names, kept in a hash map under the name itself, padded with
// zeros to 64 bytes. The map is filled from user space.
#include "tls.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__uint(key_size, NAME_WORDS * 8);
	__uint(value_size, 1);
} names SEC(".maps");

SEC("xdp") int sni_hash(struct xdp_md *ctx)
{
	const __u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 length, offset = tcp_payload(data, end, 443);
	__u64 key[NAME_WORDS];

	if (!offset)
		return XDP_PASS;
	offset = server_name(data, end, offset, &length);
	if (!offset || !without_dot(data, end, offset, &length) || !length || length > sizeof key)
		return XDP_PASS;
	if (!padded_name(key, data, end, offset, length))
		return XDP_PASS;
	return bpf_map_lookup_elem(&names, key) ? XDP_DROP : XDP_PASS;
}

char _license[] SEC("license") = "GPL";
