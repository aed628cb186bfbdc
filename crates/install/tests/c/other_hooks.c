#include "common.h"

SEC("tcx/ingress") int ingress(struct __sk_buff *skb)
{
	return 0;
}

/* Programs of this type cannot be run on a frame. */
SEC("kprobe") int probe(void *ctx)
{
	return 0;
}
