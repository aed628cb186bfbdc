/* The program is the function that is exported, and not another one that is global, too. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

__attribute__((noinline)) int before(__u32 number)
{
	return number * 3;
}

HIKE_PROG(exported)
{
	HVM_RET = before(HVM_ARG2) + 1;
	return HIKE_XDP_VM;
}
EXPORT_HIKE_PROG(exported);

char LICENSE[] SEC("license") = "GPL";
