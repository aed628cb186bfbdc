/* set_field(offset, bits, value): writes the lowest bits of a value, 1 to 32 of them, over those from an offset in bits on, counted from the
 * frame's first one; in network order. No checksum or length is changed. Gives 1, or 0 where the frame does not have all of these bits,
 * which leaves it as it is. */
#include "../frame.h"

#define MOST_BITS 32
/* That many bits can lie in so many bytes. */
#define MOST_BYTES 5
/* Offsets in bytes, which the verifier has to know a bound of. */
#define MOST_OFFSET 0x7fff

HIKE_PROG(set_field)
{
	__u64 offset = HVM_ARG2, bits = HVM_ARG3;
	unsigned char *end = (void *)(long)ctx->data_end, *byte;
	__u64 first = offset >> 3, last, ones, value;

	if (bits < 1 || bits > MOST_BITS || first > MOST_OFFSET)
		return HIKE_XDP_VM;
	last = (offset + bits - 1) >> 3;
	byte = (unsigned char *)(long)ctx->data + READ_ONCE(last);
	if (byte + 1 > end)
		return HIKE_XDP_VM;
	ones = (1ULL << bits) - 1;
	value = HVM_ARG4 & ones;
	/* In byte `first + index` the field's last bit is that far on the left, or behind it on the right. */
	byte = (unsigned char *)(long)ctx->data + READ_ONCE(first);
	for (int index = 0; index < MOST_BYTES; index++, byte++) {
		__s64 left = 8 * (__s64)(first + index + 1) - (__s64)(offset + bits);
		__u8 mask = left > 0 ? ones << (left & 7) : ones >> (-left & 63);
		__u8 part = left > 0 ? value << (left & 7) : value >> (-left & 63);

		if (left > 7 || byte + 1 > end)
			break;
		*byte = (*byte & ~mask) | part;
	}
	HVM_RET = 1;
	return HIKE_XDP_VM;
}
EXPORT_HIKE_PROG_4(set_field, __u32, offset, __u32, bits, __u32, value);

char LICENSE[] SEC("license") = "Dual MIT/GPL";
