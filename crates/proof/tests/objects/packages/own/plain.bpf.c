/* A function, and no program: chains cannot call it. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

int plain(int number)
{
	return number + 1;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
