#include "../common.h"

SEC("tcx/ingress") int program(struct __sk_buff *skb)
{
	void *data = (void *)(long)skb->data;

	return *(__u64 *)(data - 8); /* before the packet */
}
