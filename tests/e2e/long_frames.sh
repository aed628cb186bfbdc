#!/usr/bin/env bash
# Datagrams of 64 KiB on the loopback interface, whose frames are longer than what a program can read of them: a port filter drops them
# in both forms, lengths are right, and messages are known by how they begin.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin long
namespace ALONE alone
have python3 || skip "python3 is not installed"
ip -n "$ALONE" link set lo mtu 65536 up

cat >"$WORK/ports.lua" <<'LUA'
local xdp = require "xdp"
xdp.attach(function(pkt)
  local udp = pkt.udp
  if not udp or #pkt < 1000 then return end
  print(udp.dport, #pkt)
  if udp.dport == 9053 then return 1 end
  if udp.dport == 9054 then return #pkt.payload > 65000 and 1 or 2 end
end)
LUA

# send: datagrams of three sizes to each port; says which ones arrived.
send() {
    ip netns exec "$ALONE" python3 - <<'PYTHON'
import socket
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for port in (9053, 9054, 9055):
    into = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    into.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    into.bind(("127.0.0.1", port))
    into.settimeout(0.5)
    for size in (1400, 65100, 65507):
        out.sendto(b"x" * size, ("127.0.0.1", port))
        try:
            print(port, len(into.recv(70000)))
        except TimeoutError:
            print(port, "dropped", size)
PYTHON
}

for form in expanded general; do
    # What the process before has written says nothing about this one.
    attach lo "$WORK/ports.lua" --netns "$ALONE" --mode generic --form "$form"
    send >"$WORK/seen"
    # The last one ends in an error about what cannot be read, with which it passes.
    diff - "$WORK/seen" <<'SEEN' || die "$form: other datagrams arrived"
9053 dropped 1400
9053 dropped 65100
9053 dropped 65507
9054 1400
9054 dropped 65100
9054 65507
9055 1400
9055 65100
9055 65507
SEEN
    eventually "all lines are printed" grep -qs '^9055	65549' "$WORK/run.out"
    [ "$(grep -c '65549' "$WORK/run.out")" = 3 ] || die "$form: lengths differ: $(cat "$WORK/run.out")"
    grep -qs 'only the first 65279 bytes of a frame can be read' "$WORK/run.err" || die "$form: no error"
    detach
done

# What stands at the start of a packet is found however long the packet is.
cat >"$WORK/messages.lua" <<'LUA'
local function listed(pkt)
  return pkt.dns and pkt.dns.id == 7 or pkt.quic and pkt.quic.version == 1 or pkt.vxlan and pkt.vxlan.vni == 9
end
if AT_XDP then
  require("xdp").attach(function(pkt) return listed(pkt) and 1 or 2 end)
else
  require("tc").ingress(function(pkt) return listed(pkt) and 2 or 0 end)
end
LUA
sed 's/AT_XDP/true/' "$WORK/messages.lua" >"$WORK/messages_xdp.lua"

# ask: messages of three sizes to each port, and others; says how many came through.
ask() {
    ip netns exec "$ALONE" python3 - <<'PYTHON'
import socket
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
messages = {53: b"\0\7" + b"\0" * 10, 443: bytes.fromhex("c00000000108") + b"x" * 30, 4789: b"\x08" + b"\0" * 5 + b"\x09\0"}
for port, start in messages.items():
    into = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    into.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    into.bind(("127.0.0.1", port))
    into.settimeout(0.3)
    seen = 0
    for first in (start, b"\xff" * len(start)):
        for size in (1400, 65238, 65507):
            out.sendto(first.ljust(size, b"x"), ("127.0.0.1", port))
            try:
                into.recv(70000)
                seen += 1 if first == start else 10
            except TimeoutError:
                pass
    print(port, seen)
PYTHON
}
for form in expanded general; do
    for script in messages messages_xdp; do
        attach lo "$WORK/$script.lua" --netns "$ALONE" --form "$form"
        is $'53 30\n443 30\n4789 30' ask
        detach
        [ ! -s "$WORK/run.err" ] || die "$form, $script: $(head -n 3 "$WORK/run.err")"
    done
done
echo "datagrams of 64 KiB meet the filter"
