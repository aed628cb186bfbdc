// Drops TCP segments over IPv4 to port 80 whose data has a text, which is searched 8 bytes a step by its first byte.
#include "frame.h"
#include "steps.h"

#define TEXT "MALICIOUS VALUE"

enum { LENGTH = sizeof(TEXT) - 1, STEPS = 2048 };

static __always_inline int is_text(const __u8 *at)
{
	return LOAD64(at) == *(const __u64 *)TEXT && LOAD64(at + LENGTH - 8) == *(const __u64 *)&TEXT[LENGTH - 8];
}

volatile const __u64 zero = 0;

SEC("xdp") int npf_payload(struct xdp_md *ctx)
{
	const __u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end, *ip = data + ETHERNET, *tcp, *at;

	if (ip + 20 > end || LOAD16(data + 12) != bpf_htons(0x0800) || ip[9] != PROTO_TCP)
		return XDP_PASS;
	__u64 i = ETHERNET + (ip[0] & 15) * 4;
	if (!WITHIN(tcp, data, end, i, 20) || LOAD16(tcp + 2) != bpf_htons(80))
		return XDP_PASS;
	i += (tcp[12] >> 4) * 4 + zero;
	for (__u32 step = 0; step < STEPS; step++) {
		i &= MAX_OFFSET;
		if (!WITHIN(at, data, end, i, LENGTH))
			return XDP_PASS;
		__u64 found = bytes_equal(LOAD64(at), 'M');

		if (likely(!found)) {
			i += 8;
			continue;
		}
		i += first_byte(found) & 7;
		i &= MAX_OFFSET;
		at = data + i;
		asm volatile("" : "+r"(at)); // or clang checks one pointer and reads by another
		if (at + LENGTH > end)
			return XDP_PASS;
		if (is_text(at))
			return XDP_DROP;
		i++;
	}
	return XDP_PASS;
}

char _license[] SEC("license") = "GPL";
