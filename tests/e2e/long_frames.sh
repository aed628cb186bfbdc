#!/usr/bin/env bash
# Datagrams of 64 KiB on the loopback interface, whose frames are longer than what a program can read of them: a port filter drops them
# in both forms, and lengths are right.
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
echo "datagrams of 64 KiB meet the filter"
