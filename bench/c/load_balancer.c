// Spreads connections to one address over servers by Maglev's slots, and remembers where they go, as examples/load_balancer.lua.
#include "frame.h"

enum { SLOTS = 4099, PORT = 80 };

static const __u32 SERVICE = 0xc6336401; // 198.51.100.1

// The numbers of servers.
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SLOTS);
	__type(key, __u32);
	__type(value, __u32);
} slots SEC(".maps");

struct server {
	__u8 mac[6];
	__u16 is_alive;
	__u32 interface;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, struct server);
} servers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1000000);
	__type(key, __u64);
	__type(value, __u32);
} connections SEC(".maps");

// The service has an IPv4 address: no two connections have the same number.
static __always_inline __u64 connection_of(const __u8 *data, const __u8 *tcp)
{
	__u64 sum = bpf_ntohs(LOAD16(tcp)) | (__u64)bpf_ntohl(LOAD32(data + ETHERNET + 12)) << 16;

	return sum * 0x9e3779b97f4a7c15;
}

// The server of a new connection; NULL if there is none.
static __always_inline struct server *choose(__u64 connection)
{
	__u32 slot = (__u32)(connection >> 32 ^ connection) % SLOTS, *number = bpf_map_lookup_elem(&slots, &slot);

	if (!number)
		return 0;
	bpf_map_update_elem(&connections, &connection, number, BPF_ANY);
	return bpf_map_lookup_elem(&servers, number);
}

SEC("xdp") int load_balancer(struct xdp_md *ctx)
{
	__u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 offset = transport(data, end, PROTO_TCP), *number;
	struct server *server = 0;
	const __u8 *tcp;
	__u64 connection;

	if (!offset || !WITHIN(tcp, data, end, offset, 20) || LOAD16(tcp + 2) != bpf_htons(PORT) ||
	    LOAD16(data + 12) != bpf_htons(0x0800) || LOAD32(data + ETHERNET + 16) != bpf_htonl(SERVICE))
		return XDP_PASS;
	connection = connection_of(data, tcp);
	number = bpf_map_lookup_elem(&connections, &connection);
	if (number)
		server = bpf_map_lookup_elem(&servers, number);
	if (!server || !server->is_alive)
		server = choose(connection);
	if (!server || !server->is_alive)
		return XDP_DROP;
	__builtin_memcpy(data + 6, data, 6);
	__builtin_memcpy(data, server->mac, 6);
	return bpf_redirect(server->interface, 0);
}

char _license[] SEC("license") = "GPL";
