#!/usr/bin/env bash
# `pkt:fix_checksums` at tc: a script writes addresses by offset, on packets that come in and on those that leave, and real connections
# reach a server by another address, over IPv4 and IPv6, by TCP and UDP, in both forms, with checksums that are left to the network card
# and without, and no checksum is wrong. Then another one that assigns payloads.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin checksums
veth_pair
have python3 || skip "python3 is not installed"
have ethtool || skip "ethtool is not installed"

for side in "$LEFT" "$RIGHT"; do ip -n "$side" link set lo up; done
ip -n "$LEFT" address add 2001:db8::1/64 dev left0 nodad
ip -n "$RIGHT" address add 2001:db8::2/64 dev right0 nodad
ip -n "$LEFT" route add 198.51.100.1 via 192.0.2.2
ip -n "$LEFT" route add 2001:db8:1::1 via 2001:db8::2

cat >"$WORK/rename.lua" <<'LUA'
local tc = require "tc"
-- The service's address, that of the server, and both as they are in packets: at the same place of source or destination.
local names = {
  { "198.51.100.1", "192.0.2.2", "\198\51\100\1", "\192\0\2\2", 26, 4 },
  { "2001:db8:1::1", "2001:db8::2", "\x20\x01\x0d\xb8\0\1" .. ("\0"):rep(9) .. "\1",
    "\x20\x01\x0d\xb8" .. ("\0"):rep(11) .. "\2", 22, 16 },
}
tc.egress(function(pkt)
  local ip = pkt.ip
  if not ip then return end
  for _, name in ipairs(names) do
    if ip.dst == name[1] then
      pkt:setstring(name[5] + name[6], name[4])
      pkt:fix_checksums()
    end
  end
end)
tc.ingress(function(pkt)
  local ip = pkt.ip
  if not ip or not (pkt.tcp or pkt.udp) then return end
  for _, name in ipairs(names) do
    if ip.src == name[2] then
      pkt:setstring(name[5], name[3])
      pkt:fix_checksums()
    end
  end
end)
LUA

# Answers with what it gets: TCP and UDP, both families.
serve_pair 8080

# ask: the service by its other address, with messages of all lengths up to what takes several segments.
ask() {
    ip netns exec "$LEFT" timeout 60 python3 -c '
import packets
packets.ask(["198.51.100.1", "2001:db8:1::1"], 8080, 20)
print("all answered")'
}

# errors SIDE: what the namespace has counted of wrong checksums.
errors() { ip netns exec "$1" python3 -c 'import packets; print(packets.checksum_errors())'; }

for form in auto general; do
    for offload in on off; do
        ip netns exec "$LEFT" ethtool -K left0 tx "$offload" >/dev/null
        ip netns exec "$RIGHT" ethtool -K right0 tx "$offload" >/dev/null
        attach left0 "$WORK/rename.lua" --netns "$LEFT" --form "$form"
        is "all answered" ask
        detach
        for side in "$LEFT" "$RIGHT"; do is 0 errors "$side"; done
    done
done
# Payloads that are assigned, where packets leave and where they come in.
cat >"$WORK/payload.lua" <<'LUA'
local tc = require "tc"
tc.egress(function(pkt)
  if pkt.udp then pkt.payload = pkt.payload .. "!" end
end)
tc.ingress(function(pkt)
  if pkt.udp then pkt.payload = pkt.payload:sub(2) end
end)
LUA
# What is sent gets an end, which is the beginning of what comes back, where it is taken off.
cat >"$WORK/datagrams.py" <<'PYTHON'
import os, socket

for family, address in ((socket.AF_INET, "192.0.2.2"), (socket.AF_INET6, "2001:db8::2")):
    for length in (0, 1, 2, 100, 1201):
        data = os.urandom(length)
        with socket.socket(family, socket.SOCK_DGRAM) as one:
            one.settimeout(20)
            one.connect((address, 8080))
            one.send(data)
            assert one.recv(65536) == data[::-1], (address, length)
print("all answered")
PYTHON
for form in auto general; do
    for offload in on off; do
        ip netns exec "$LEFT" ethtool -K left0 tx "$offload" >/dev/null
        ip netns exec "$RIGHT" ethtool -K right0 tx "$offload" >/dev/null
        attach left0 "$WORK/payload.lua" --netns "$LEFT" --form "$form"
        is "all answered" ip netns exec "$LEFT" timeout 60 python3 "$WORK/datagrams.py"
        detach
        for side in "$LEFT" "$RIGHT"; do is 0 errors "$side"; done
    done
done
echo "checksums are right, also where the card completes them"
