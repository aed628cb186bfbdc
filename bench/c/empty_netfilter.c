// The floor of netfilter: what a program there costs that does nothing.
#include <linux/types.h>
#include <bpf/bpf_helpers.h>

#define NF_ACCEPT 1

SEC("netfilter") int empty(void *ctx)
{
	return NF_ACCEPT;
}

char _license[] SEC("license") = "GPL";
