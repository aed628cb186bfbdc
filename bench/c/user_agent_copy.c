// Does what user_agent.c does, but searches a per-CPU copy of the payload's first 2048 bytes.
#include "agent.h"

SEC("xdp") int user_agent_copy(struct xdp_md *ctx)
{
	const __u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 zero = 0, offset = tcp_payload(data, end, 80);
	long length = end - data - offset;

	if (!offset || length < NEEDLE + 3)
		return XDP_PASS;
	if (length > COPIED)
		length = COPIED;
	struct copy *copy = bpf_map_lookup_elem(&copies, &zero);
	if (!copy || bpf_xdp_load_bytes(ctx, offset, copy->bytes, length))
		return XDP_PASS;

	__u64 i = copy->zero;
	for (__u32 step = 0; step < COPIED && i < length; step++) {
		i &= COPIED - 1;
		__u64 candidates = bytes_equal(LOAD64(copy->bytes + i), '\n');

		if (likely(!candidates)) {
			i += 8;
			continue;
		}
		i += first_byte(candidates) & 7;
		if (is_header(copy->bytes + i)) {
			i += NEEDLE;
			i += is_blank(copy->bytes[i & (COPIED - 1)]);
			if (unlikely(is_blank(copy->bytes[i & (COPIED - 1)])))
				i = behind_blanks(copy, i);
			return listed(copy, i, length) ? XDP_DROP : XDP_PASS;
		}
		i++;
	}
	return XDP_PASS;
}

char _license[] SEC("license") = "GPL";
