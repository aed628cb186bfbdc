// Shared by the C peers: from a frame's first byte to the payload of its TCP or UDP segment.
//
// Ethernet, then IPv4 (options passed over, non-first fragments refused) or IPv6 without extension headers. Offsets count
// from the frame's first byte and are kept below MAX_OFFSET, because the verifier refuses packet offsets above 0xffff.
#pragma once

#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define MAX_OFFSET 0x3fff
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

// Whether `bytes` bytes at `offset` lie in the frame; `at` is then a pointer to them that the verifier accepts.
#define WITHIN(at, data, end, offset, bytes) ((at) = (data) + (offset), likely((at) + (bytes) <= (end)))

#define LOAD16(at) (*(const __u16 *)(at))
#define LOAD32(at) (*(const __u32 *)(at))
#define LOAD64(at) (*(const __u64 *)(at))

enum { ETHERNET = 14, PROTO_TCP = 6, PROTO_UDP = 17 };

// The offset of the transport header of protocol `proto`, or 0.
static __always_inline __u32 transport(const __u8 *data, const __u8 *end, __u8 proto)
{
	const __u8 *ip;

	if (!WITHIN(ip, data, end, ETHERNET, 20))
		return 0;
	if (likely(LOAD16(data + 12) == bpf_htons(0x0800))) {
		__u32 header = (ip[0] & 15) * 4;

		if (ip[0] >> 4 != 4 || header < 20 || ip[9] != proto || LOAD16(ip + 6) & bpf_htons(0x1fff))
			return 0;
		return ETHERNET + header;
	}
	if (LOAD16(data + 12) == bpf_htons(0x86dd) && ip + 40 <= end && ip[0] >> 4 == 6 && ip[6] == proto)
		return ETHERNET + 40;
	return 0;
}

// The offset of the payload of a TCP segment to `port`, or 0.
static __always_inline __u32 tcp_payload(const __u8 *data, const __u8 *end, __u16 port)
{
	__u32 offset = transport(data, end, PROTO_TCP);
	const __u8 *tcp;

	if (!offset || !WITHIN(tcp, data, end, offset, 20) || LOAD16(tcp + 2) != bpf_htons(port))
		return 0;
	__u32 header = (tcp[12] >> 4) * 4;
	return header < 20 ? 0 : offset + header;
}
