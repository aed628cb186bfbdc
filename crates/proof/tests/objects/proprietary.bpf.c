/* An object that programs under the GPL must not have. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

int two(void)
{
	return 2;
}

char LICENSE[] SEC("license") = "Proprietary";
