// Drops a TLS ClientHello that asks for one server name, compared in the code 8 bytes at a time.
#include "tls.h"
#include "names.h"

static const char name[] = ONE_NAME;
enum { LENGTH = sizeof name - 1 };
_Static_assert(LENGTH >= 8, "the last compare overlaps the one before it");

// 8 bytes of the name from `at` on; folds to a constant.
static __always_inline __u64 word(int at)
{
	__u64 value = 0;

#pragma unroll
	for (int i = 0; i < 8; i++)
		value |= (__u64)(__u8)name[at + i] << (i * 8);
	return value;
}

// The bit that makes letters lower-case, for those of the 8 bytes from `at` on that are letters; folds to a constant, too.
static __always_inline __u64 letters(int at)
{
	__u64 value = 0;

#pragma unroll
	for (int i = 0; i < 8; i++)
		if (name[at + i] >= 'a' && name[at + i] <= 'z')
			value |= 0x20ULL << (i * 8);
	return value;
}

SEC("xdp") int sni_one(struct xdp_md *ctx)
{
	const __u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end, *at;
	__u32 length, offset = tcp_payload(data, end, 443);

	if (!offset)
		return XDP_PASS;
	offset = server_name(data, end, offset, &length);
	if (!offset || !WITHIN(at, data, end, offset, LENGTH))
		return XDP_PASS;
	if (length != LENGTH && (length != LENGTH + 1 || at + LENGTH + 1 > end || at[LENGTH] != '.'))
		return XDP_PASS;
#pragma unroll
	for (int i = 0; i + 8 <= LENGTH; i += 8)
		if ((LOAD64(at + i) | letters(i)) != word(i))
			return XDP_PASS;
	return (LOAD64(at + LENGTH - 8) | letters(LENGTH - 8)) == word(LENGTH - 8) ? XDP_DROP : XDP_PASS;
}

char _license[] SEC("license") = "GPL";
