/* accept(): lets the packet pass to the network stack. (`pass` is a word of the language.) */
#include "../frame.h"

HIKE_PROG(accept)
{
	return XDP_PASS;
}
EXPORT_HIKE_PROG(accept);

char LICENSE[] SEC("license") = "Dual MIT/GPL";
