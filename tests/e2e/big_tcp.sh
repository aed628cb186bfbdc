#!/usr/bin/env bash
# Segments that the kernel puts together beyond 64 KiB (BIG TCP), over IPv4 and IPv6, at tc in both directions and both forms: the IP
# header has 0 as its length, scripts have the right one, and what arrives is what was sent.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin big_tcp
have python3 || skip "python3 is not installed"
namespace LEFT left
namespace RIGHT right
ip link add left0 netns "$LEFT" type veth peer name right0 netns "$RIGHT"

# The interface's limits for segments that go out and come in (IFLA_GSO_MAX_SIZE and others in linux/if_link.h), which not every `ip` can set.
cat >"$WORK/limits.py" <<'PYTHON'
import socket, struct, sys

index, limits = socket.if_nametoindex(sys.argv[1]), (41, 58, 63, 64)
body = struct.pack("=BxHiII", 0, 0, index, 0, 0) + b"".join(struct.pack("=HHI", 8, limit, 200000) for limit in limits)
with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as one:
    one.send(struct.pack("=IHHII", 16 + len(body), 16, 5, 1, 0) + body)  # RTM_NEWLINK, NLM_F_REQUEST | NLM_F_ACK
    sys.exit(struct.unpack("=i", one.recv(4096)[16:20])[0] != 0)
PYTHON
for side in "$LEFT left0 1" "$RIGHT right0 2"; do
    read -r in name number <<<"$side"
    ip -n "$in" address add "192.0.2.$number/24" dev "$name"
    ip -n "$in" address add "2001:db8::$number/64" dev "$name" nodad
    ip -n "$in" link set "$name" up
    ip netns exec "$in" python3 "$WORK/limits.py" "$name" || skip "the kernel has no BIG TCP"
done

ip netns exec "$RIGHT" python3 - >"$WORK/server.out" 2>"$WORK/server.err" <<'PYTHON' &
import hashlib, packets, select, socket

sockets = packets.servers(["192.0.2.2", "2001:db8::2"], [7000])
while True:
    for one in select.select([one for one in sockets if one.type == socket.SOCK_STREAM], [], [])[0]:
        stream, _ = one.accept()
        with stream:
            stream.sendall(hashlib.sha256(packets.received(stream)).digest())
PYTHON
PIDS+=($!)
eventually "the server listens" grep -qs listening "$WORK/server.out"

# send: a stream over each family, and whether the same has arrived.
send() {
    ip netns exec "$LEFT" timeout 60 python3 - <<'PYTHON'
import hashlib, os, packets, socket

for address in ("192.0.2.2", "2001:db8::2"):
    data = os.urandom(1 << 20) * 8
    with socket.create_connection((address, 7000), timeout=20) as one:
        one.sendall(data)
        one.shutdown(socket.SHUT_WR)
        print(packets.received(one) == hashlib.sha256(data).digest())
PYTHON
}

cat >"$WORK/big.lua" <<'LUA'
local tc = require "tc"

local function show(pkt, way)
  local ip, tcp = pkt.ip, pkt.tcp
  if #pkt < 70000 or not tcp then return end
  print(way, ip.version, ip.length == #pkt - 14 and "right" or ip.length, tcp.dport)
  -- More than what can be read.
  print(way, #pkt.payload)
end

tc.egress(function(pkt) show(pkt, "out") end)
tc.ingress(function(pkt) show(pkt, "in") end)
LUA

for form in expanded general; do
    for side in "$LEFT left0 out" "$RIGHT right0 in"; do
        read -r in name way <<<"$side"
        attach "$name" "$WORK/big.lua" --netns "$in" --form "$form"
        is $'True\nTrue' send
        for version in 4 6; do
            eventually "long packets of IPv$version go $way" grep -qs "^$way	$version	" "$WORK/run.out"
        done
        others=$(grep "^$way	" "$WORK/run.out" | grep -v "^$way	[46]	right	7000$" || true)
        [ -z "$others" ] || die "$form: $(head -n 3 <<<"$others")"
        grep -qs 'only the first 65279 bytes of a frame can be read' "$WORK/run.err" || die "$form: no error"
        detach
    done
done
echo "packets of more than 64 KiB have their length"
