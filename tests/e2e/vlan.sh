#!/usr/bin/env bash
# VLAN tags between two hosts, both ways, in both forms: one side tags what leaves and takes tags away from what comes in at tc, the other
# one does so at XDP and at tc, with tags that interfaces hand on beside packets and with tags among the bytes.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin vlan
veth_pair
have python3 || skip "python3 is not installed"
have ethtool || skip "ethtool is not installed"
for side in "$LEFT" "$RIGHT"; do ip -n "$side" link set lo up; done
# What comes in at XDP has the checksums that the wire has.
ip netns exec "$LEFT" ethtool -K left0 tx off >/dev/null

# Only tagged packets leave, and none come in but those with the tag.
cat >"$WORK/left.lua" <<'LUA'
local tc = require "tc"
tc.egress(function(pkt)
  pkt:push_vlan(300, 5)
  if pkt.ip and pkt.ip.proto == 17 then pkt:push_vlan(7, 0, 0x88a8) end
end)
tc.ingress(function(pkt)
  local vlan = pkt.vlan
  if not vlan or vlan.id ~= 301 or vlan.priority ~= 2 then return 2 end
  pkt:pop_vlan()
  if pkt.vlan then print("left with a tag") end
end)
LUA
cat >"$WORK/right.lua" <<'LUA'
local tc = require "tc"
local function untag(pkt, drop)
  local vlan = pkt.vlan
  if not vlan then return drop end
  if vlan.id == 7 then
    if vlan.inner_id ~= 300 then return drop end
    pkt:pop_vlan()
  end
  if pkt.vlan.id ~= 300 or pkt.vlan.priority ~= 5 then return drop end
  pkt:pop_vlan()
  if pkt.vlan then print("right with a tag") end
end
if AT_XDP then
  require("xdp").attach(function(pkt) return untag(pkt, 1) end)
else
  tc.ingress(function(pkt) return untag(pkt, 2) end)
end
tc.egress(function(pkt)
  pkt:push_vlan(9)
  pkt.vlan.id = 301
  pkt.vlan.priority = 2
end)
LUA
sed 's/AT_XDP/true/' "$WORK/right.lua" >"$WORK/right_xdp.lua"

ip netns exec "$RIGHT" python3 - >"$WORK/server.out" 2>"$WORK/server.err" <<'PYTHON' &
import packets
packets.reverse(packets.servers(["192.0.2.2"], [7000]))
PYTHON
PIDS+=($!)
eventually "the server listens" grep -qs listening "$WORK/server.out"

ask() {
    ip netns exec "$LEFT" timeout 60 python3 -c '
import packets, sys
packets.ask(["192.0.2.2"], 7000, float(sys.argv[1]), [1, 101, 300000])
print("all answered")' "$1"
}
errors() { ip netns exec "$1" python3 -c 'import packets; print(packets.checksum_errors())'; }

is "all answered" ask 20
for form in auto general; do
    for script in right right_xdp; do
        # XDP sees tags that are among the bytes.
        beside=on
        [ "$script" = right ] || beside=off
        for interface in "$LEFT left0" "$RIGHT right0"; do
            read -r space name <<<"$interface"
            ip netns exec "$space" ethtool -K "$name" tx-vlan-hw-insert "$beside" tx-vlan-stag-hw-insert "$beside" >/dev/null
        done
        ip netns exec "$LEFT" "$MOONHOOK" run left0 "$WORK/left.lua" --name left --form "$form" \
            >"$WORK/left.out" 2>"$WORK/left.err" &
        PIDS+=($!)
        eventually "the left script is attached" runs left
        # Untagged packets are not taken.
        fails 1 ask 0.3
        attach right0 "$WORK/$script.lua" --netns "$RIGHT" --form "$form"
        is "all answered" ask 20
        detach
        "$MOONHOOK" stop left >/dev/null
        wait "${PIDS[-1]}"
        unset 'PIDS[-1]'
        if grep -hs "with a tag\|errors [1-9]" "$WORK"/*.out "$WORK"/*.err; then die "$form, $script"; fi
        for side in "$LEFT" "$RIGHT"; do is 0 errors "$side"; done
    done
done
echo "tagged packets are answered by tagged packets"
