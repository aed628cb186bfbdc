#include "../common.h"

SEC("xdp") __attribute__((naked)) int program(struct xdp_md *ctx)
{
	asm volatile("r0 = r3; exit;");
}
