#include "common.h"

SEC("moon") int program(void *ctx)
{
	return 0;
}
