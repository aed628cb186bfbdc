/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Byte orders: what <bpf/bpf_endian.h> of libbpf offers. Constants stay constants.
 */
#ifndef MOONHOOK_BPF_ENDIAN_H
#define MOONHOOK_BPF_ENDIAN_H

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define moonhook_be(bits, x) __builtin_bswap##bits(x)
#define moonhook_le(bits, x) ((__u##bits)(x))
#else
#define moonhook_be(bits, x) ((__u##bits)(x))
#define moonhook_le(bits, x) __builtin_bswap##bits(x)
#endif

#define bpf_htons(x) moonhook_be(16, x)
#define bpf_ntohs(x) moonhook_be(16, x)
#define bpf_htonl(x) moonhook_be(32, x)
#define bpf_ntohl(x) moonhook_be(32, x)
#define bpf_cpu_to_be64(x) moonhook_be(64, x)
#define bpf_be64_to_cpu(x) moonhook_be(64, x)

#endif
