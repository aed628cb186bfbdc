// Shared by the C peers that forward: IPv4 and IPv6 packets go on as the kernel's tables say, with TTL, checksum, MAC addresses, redirect.
#pragma once

#include "frame.h"

enum { FAMILY4 = 2, FAMILY6 = 10 };

// The new TTL is `fixed`, or one less than the old one if that is 0.
static __always_inline int forward_frame(struct xdp_md *ctx, __u8 fixed)
{
	__u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end, *ip;
	struct bpf_fib_lookup fib = {};

	if (!WITHIN(ip, data, end, ETHERNET, 20))
		return XDP_PASS;
	fib.ifindex = ctx->ingress_ifindex;
	if (likely(LOAD16(data + 12) == bpf_htons(0x0800))) {
		__u32 header = (ip[0] & 15) * 4, sum;

		if (ip[0] >> 4 != 4 || header < 20 || ip + header > end || ip[8] <= 1)
			return XDP_PASS;
		fib.family = FAMILY4;
		fib.tos = ip[1];
		fib.l4_protocol = ip[9];
		fib.tot_len = bpf_ntohs(LOAD16(ip + 2));
		fib.ipv4_src = LOAD32(ip + 12);
		fib.ipv4_dst = LOAD32(ip + 16);
		if (bpf_fib_lookup(ctx, &fib, sizeof(fib), 0) != BPF_FIB_LKUP_RET_SUCCESS)
			return XDP_PASS;
		// RFC 1624, equation 3; the TTL is the first of its two bytes.
		sum = (__u16)~LOAD16(ip + 10) + (fixed ?: ip[8] - 1) + (__u16)~ip[8];
		sum = (sum & 0xffff) + (sum >> 16);
		sum = (sum & 0xffff) + (sum >> 16);
		*(__u16 *)(ip + 10) = ~sum;
		ip[8] = fixed ?: ip[8] - 1;
	} else if (LOAD16(data + 12) == bpf_htons(0x86dd) && ip + 40 <= end && ip[0] >> 4 == 6) {
		if (ip[7] <= 1)
			return XDP_PASS;
		fib.family = FAMILY6;
		fib.flowinfo = LOAD32(ip) & bpf_htonl(0x0fffffff);
		fib.l4_protocol = ip[6];
		fib.tot_len = bpf_ntohs(LOAD16(ip + 4)) + 40;
		__builtin_memcpy(fib.ipv6_src, ip + 8, 16);
		__builtin_memcpy(fib.ipv6_dst, ip + 24, 16);
		if (bpf_fib_lookup(ctx, &fib, sizeof(fib), 0) != BPF_FIB_LKUP_RET_SUCCESS)
			return XDP_PASS;
		ip[7] = fixed ?: ip[7] - 1;
	} else {
		return XDP_PASS;
	}
	__builtin_memcpy(data, fib.dmac, 6);
	__builtin_memcpy(data + 6, fib.smac, 6);
	return bpf_redirect(fib.ifindex, 0);
}
