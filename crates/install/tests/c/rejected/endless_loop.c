#include "../common.h"

SEC("xdp") int program(struct xdp_md *ctx)
{
	volatile int i = 0;

	while (i < 3) /* i never changes */
		;
	return i;
}
