#!/usr/bin/env bash
# When somebody wants to know when packets came in, handlers at tc, netfilter and in a control group see it too: within a second of the
# clock, in both forms. What is assigned at tc is seen by the handlers behind.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin timestamps
have python3 || skip "python3 is not installed"
veth_pair
need_bpffs
need_cgroup

cat >"$WORK/right.lua" <<LUA
local tc, netfilter, cgroup = require "tc", require "netfilter", require "cgroup"
seen = { tc = 0, behind = 0, netfilter = 0, cgroup = 0 }
local function is_for_us(pkt) return pkt.udp and pkt.udp.dport == 7000 end
tc.ingress(function(pkt)
  if is_for_us(pkt) then
    if pkt.hwtimestamp ~= 0 then error "a veth has no clock" end
    seen.tc = pkt.timestamp
    if pkt.payload == "then" then pkt.timestamp = 123456789123456789 end
  end
end)
tc.ingress(function(pkt)
  if is_for_us(pkt) then seen.behind = pkt.timestamp end
end)
netfilter.register { pf = 2, hooknum = 1, priority = 7, hook = function(pkt)
  if is_for_us(pkt) then seen.netfilter = pkt.timestamp end
end }
cgroup.ingress("$CGROUP", function(pkt)
  if is_for_us(pkt) then seen.cgroup = pkt.timestamp end
end)
LUA

# receive: asks for times, and prints that of one datagram in ns.
cat >"$WORK/receive.py" <<'PYTHON'
import socket, struct

TIMESTAMPNS = 35
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
    server.setsockopt(socket.SOL_SOCKET, TIMESTAMPNS, 1)
    server.bind(("", 7000))
    server.settimeout(20)
    print("ready", flush=True)
    (_, ((_, _, stamp),), *_) = server.recvmsg(100, 100)
    seconds, ns = struct.unpack("qq", stamp)
    print(seconds * 10**9 + ns, flush=True)
PYTHON
cat >"$WORK/send.py" <<'PYTHON'
import socket, sys

socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(sys.argv[1].encode(), ("192.0.2.2", 7000))
PYTHON

of() { "$MOONHOOK" exec right -e "print($1)" 2>&1; }

# arrive TEXT: one datagram, and when its receiver has it to have come.
arrive() {
    # The shell empties the file only some time after it has gone on.
    rm -f "$WORK/received"
    in_cgroup ip netns exec "$RIGHT" python3 "$WORK/receive.py" >"$WORK/received" &
    local receiver=$!
    PIDS+=("$receiver")
    eventually "a receiver waits" grep -qs ready "$WORK/received"
    ip netns exec "$LEFT" python3 "$WORK/send.py" "$1"
    wait "$receiver"
    unset 'PIDS[-1]'
    tail -n 1 "$WORK/received"
}

for form in auto general; do
    attach right0 "$WORK/right.lua" --name right --netns "$RIGHT" --form "$form"
    came=$(arrive now)
    echo "$form: $came $(of 'seen.tc, seen.netfilter, seen.cgroup')"
    is "true" of "seen.tc == $came and seen.behind == $came and seen.netfilter == $came and seen.cgroup == $came"
    now=$(date +%s%N)
    is "true" of "math.abs($now - seen.tc) < 10000000000"
    is "123456789123456789" arrive then
    is "true" of "seen.tc > $came and seen.behind == 123456789123456789"
    detach
    if grep -hs "errors [1-9]" "$WORK"/*.out; then die "$form: $(cat "$WORK"/*.err)"; fi
done
echo "handlers saw when packets came in"
