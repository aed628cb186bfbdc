#include "../common.h"

SEC("xdp") int program(struct xdp_md *ctx)
{
	volatile __u64 sum = 0;

	for (__u64 i = 0; i < 10000000; i++)
		sum += i; /* a million instructions in */
	return sum;
}
