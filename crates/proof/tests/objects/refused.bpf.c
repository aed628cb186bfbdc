/* Functions that no program can have. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

extern int missing(int number);

int lacks(int number)
{
	return missing(number) + 1;
}

__attribute__((noinline)) int turns(int number)
{
	if (number <= 1)
		return number;
	return turns(number - 1) * 3 + turns(number - 2);
}

unsigned int beyond(struct xdp_md *ctx)
{
	unsigned char *data = (void *)(long)ctx->data;

	return data[20];
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
