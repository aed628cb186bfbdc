#!/usr/bin/env bash
# Programs in C that call Lua: `moonhook build --library`, clang and bpftool make one object, which filters TLS by the name that clients send,
# as Lunatik's example does, and counts by a function; in both forms, with real servers and clients.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin library
veth_pair
for tool in bpftool openssl curl python3; do
    have $tool || skip "$tool is not installed"
done
CLANG=$(command -v clang-19 || command -v clang) || skip "clang is not installed"

ip -n "$LEFT" address add 198.51.100.1/24 dev left0
ip -n "$RIGHT" address add 198.51.100.2/24 dev right0

mkdir -p "$WORK/filter"
cat >"$WORK/filter/names.lua" <<'LUA'
local xdp = require "xdp"
local action = require "linux.xdp"

local refused = { ["blocked.example"] = true }

local function short(pkt, at)
  return pkt:getbyte(at) << 8 | pkt:getbyte(at + 1)
end

-- The argument is where the payload begins, in two bytes, highest first.
xdp.attach(function(pkt, arg)
  local at = short(arg, 0)
  if pkt:getbyte(at) ~= 0x16 or pkt:getbyte(at + 5) ~= 1 then return action.PASS end
  local ciphers = at + 44 + pkt:getbyte(at + 43)
  local compression = ciphers + 2 + short(pkt, ciphers)
  local extension = compression + 3 + pkt:getbyte(compression)
  for _ = 1, 20 do
    if short(pkt, extension) == 0 then
      local name = pkt:getstring(extension + 9, short(pkt, extension + 7))
      return refused[name] and action.DROP or action.PASS
    end
    extension = extension + 4 + short(pkt, extension + 2)
  end
end)

local hellos = map { key = "int", value = "int", capacity = 16 }

return {
  hello = function(pkt, port)
    hellos[port] = (hellos[port] or 0) + 1
    return hellos[port]
  end,
}
LUA
cat >"$WORK/program.bpf.c" <<'C'
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/tcp.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>

typedef unsigned long size_t;

extern int bpf_luaxdp_run(char *key, size_t key__sz, struct xdp_md *xdp_ctx, void *arg, size_t arg__sz) __ksym;

static char script[] = "filter/names";
long long seen;

SEC("xdp") int program(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data;
	struct iphdr *ip = data + sizeof(*eth);
	struct tcphdr *tcp;
	__u16 offset;
	int verdict;

	if ((void *)(ip + 1) > end || eth->h_proto != bpf_htons(ETH_P_IP) || ip->protocol != IPPROTO_TCP)
		return XDP_PASS;
	tcp = (void *)ip + ip->ihl * 4;
	if ((void *)(tcp + 1) > end || tcp->dest != bpf_htons(443))
		return XDP_PASS;
	offset = (void *)tcp + tcp->doff * 4 - data;
	if (data + offset + 10 > end)
		return XDP_PASS;
	seen = hello(ctx, 443);
	offset = bpf_htons(offset);
	verdict = bpf_luaxdp_run(script, sizeof(script), ctx, &offset, sizeof(offset));
	return verdict < 0 ? XDP_PASS : verdict;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
C

cd "$WORK"
openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=x >/dev/null 2>&1
# Connections whose beginning is dropped stay: each is served by a thread.
ip netns exec "$RIGHT" python3 -c '
import http.server, ssl
class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    def finish_request(self, request, address):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain("cert.pem", "key.pem")
        with context.wrap_socket(request, server_side=True) as wrapped:
            super().finish_request(wrapped, address)
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
Server(("198.51.100.2", 443), Handler).serve_forever()
' >/dev/null 2>&1 &
PIDS+=($!)
fetch() {
    ip netns exec "$LEFT" curl -sk --max-time 3 -o /dev/null -w '%{http_code}' --resolve "$1:443:198.51.100.2" "https://$1/" || true
}
answers() { [ "$(fetch open.example)" = 200 ]; }
eventually "the server answers" answers

for form in expanded general; do
    "$MOONHOOK" build --library filter/names.lua -o names.bpf.o --form $form >build.out
    grep -q "functions .*hello.*bpf_luaxdp_run" build.out || die "$form: $(cat build.out)"
    "$CLANG" -O2 -g -target bpf -mcpu=v3 -I"/usr/include/$(uname -m)-linux-gnu" -include names.h -c program.bpf.c -o program.bpf.o
    bpftool gen object linked.bpf.o program.bpf.o names.bpf.o
    # Name spaces have file systems of their own for BPF: it is attached from within.
    ip netns exec "$RIGHT" ip link set dev right0 xdpgeneric obj linked.bpf.o sec xdp
    is 200 fetch open.example
    is 000 fetch blocked.example
    is 200 fetch other.example
    id=$(ip netns exec "$RIGHT" ip -j link show dev right0 | jq '.[0].xdp.prog.id')
    for map in $(bpftool -j prog show id "$id" | jq '.map_ids[]'); do
        case $(bpftool -j map show id "$map" | jq -r .name) in
        *.bss) bpftool -j map dump id "$map" | jq -r '.[0].formatted.value[".bss"][].seen // empty' >seen.out ;;
        esac
    done
    [ "$(cat seen.out)" -ge 3 ] || die "$form: the function has counted $(cat seen.out)"
    ip netns exec "$RIGHT" ip link set dev right0 xdpgeneric off
    is 200 fetch blocked.example
done
