#!/usr/bin/env bash
# Packets in GRE, VXLAN and GUE between two hosts, both ways, in both forms: what leaves is put inside at tc, what comes in is taken out at tc or
# at XDP; over IPv4 and IPv6. With VXLAN the other end is the kernel's own device, too. No checksum is wrong.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin tunnels
veth_pair
have python3 || skip "python3 is not installed"
have ethtool || skip "ethtool is not installed"

for side in "$LEFT" "$RIGHT"; do ip -n "$side" link set lo up; done
ip -n "$LEFT" address add 2001:db8::1/64 dev left0 nodad
ip -n "$RIGHT" address add 2001:db8::2/64 dev right0 nodad
# What is inside leaves room for the outer headers.
for route in "$LEFT left0 192.0.2.2" "$RIGHT right0 192.0.2.1" "$LEFT left0 2001:db8::2" "$RIGHT right0 2001:db8::1"; do
    read -r space name target <<<"$route"
    ip -n "$space" route add "$target" dev "$name" mtu 1400
done
# What comes in at XDP has the checksums that the wire has.
ip netns exec "$LEFT" ethtool -K left0 tx off >/dev/null

# script NAME TABLE INGRESS: hosts tell packets of neighbour discovery from others by their hop limit.
script() {
    cat >"$WORK/$1.lua" <<LUA
local tc = require "tc"
tc.egress(function(pkt)
  local ip = pkt.ip
  if ip and (pkt.tcp or pkt.udp) then pkt:encap{ttl = 9, $2} end
end)
local function take_out(pkt, drop)
  local ip = pkt.ip
  if not ip or pkt.icmp then return end
  if ip.ttl ~= 9 then return drop end
  pkt:decap()
end
$3
LUA
}

serve_pair 7000

ask() { ask_pair 7000 "$1"; }
errors() { ip netns exec "$1" python3 -c 'import packets; print(packets.checksum_errors())'; }

is "all answered" ask 20
AT_TC='tc.ingress(function(pkt) return take_out(pkt, 2) end)'
AT_XDP='require("xdp").attach(function(pkt) return take_out(pkt, 1) end)'
FOUR='src = "198.51.100.1", dst = "198.51.100.2"'
SIX='src = "2001:db8:1::1", dst = "2001:db8:1::2"'
for form in auto general; do
    for outer in "$FOUR, gre = {}" "$SIX, gre = {key = 7}" "$FOUR, vxlan = {vni = 42}" "$SIX, gue = {}"; do
        script left "$outer" "$AT_TC"
        ip netns exec "$LEFT" "$MOONHOOK" run left0 "$WORK/left.lua" --name left --form "$form" \
            >"$WORK/left.out" 2>"$WORK/left.err" &
        PIDS+=($!)
        eventually "the left script is attached" runs left
        for ingress in "$AT_TC" "$AT_XDP"; do
            # Nobody takes the packets out.
            fails 1 ask 0.3
            script right "$outer" "$ingress"
            attach right0 "$WORK/right.lua" --netns "$RIGHT" --form "$form"
            is "all answered" ask 20
            detach
            if grep -hs "errors [1-9]" "$WORK"/*.out; then die "$form, $outer: $(cat "$WORK"/*.err)"; fi
        done
        "$MOONHOOK" stop left >/dev/null
        wait "${PIDS[-1]}"
        unset 'PIDS[-1]'
        for side in "$LEFT" "$RIGHT"; do is 0 errors "$side"; done
    done
done
echo "packets in GRE, VXLAN and GUE are answered by such"

# The kernel's VXLAN at the right end, with addresses of its own inside; the left end answers for its neighbours by static entries.
if ! ip -n "$RIGHT" link add vx0 address 02:00:00:00:01:02 type vxlan id 42 local 192.0.2.2 remote 192.0.2.1 dstport 4789 \
    noudpcsum 2>"$WORK/log"; then
    skip "the kernel has no VXLAN"
fi
INSIDE_LEFT=10.9.0.1 INSIDE_RIGHT=10.9.0.2
ip -n "$RIGHT" address add $INSIDE_RIGHT/24 dev vx0
ip -n "$RIGHT" link set vx0 mtu 1400 up
ip -n "$LEFT" address add $INSIDE_LEFT/24 dev left0
ip -n "$LEFT" neighbour add $INSIDE_RIGHT lladdr 02:00:00:00:01:02 dev left0
LEFT_MAC=$(ip netns exec "$LEFT" cat /sys/class/net/left0/address)
RIGHT_MAC=$(ip netns exec "$RIGHT" cat /sys/class/net/right0/address)
ip -n "$RIGHT" neighbour add $INSIDE_LEFT lladdr "$LEFT_MAC" dev vx0
ip -n "$LEFT" route add $INSIDE_RIGHT dev left0 mtu 1400
cat >"$WORK/vxlan.lua" <<LUA
local tc = require "tc"
tc.egress(function(pkt)
  local ip = pkt.ip
  if ip and ip.dst == "$INSIDE_RIGHT" then
    pkt:encap{src = "192.0.2.1", dst = "192.0.2.2", vxlan = {vni = 42}}
    pkt.eth.dst = "$RIGHT_MAC"
  end
end)
tc.ingress(function(pkt) if pkt.vxlan and pkt.vxlan.vni == 42 then pkt:decap() end end)
LUA
ip netns exec "$RIGHT" python3 - >"$WORK/inside.out" 2>"$WORK/inside.err" <<PYTHON &
import packets
packets.reverse(packets.servers(["$INSIDE_RIGHT"], [7001]))
PYTHON
PIDS+=($!)
eventually "the server inside listens" grep -qs listening "$WORK/inside.out"
for form in auto general; do
    attach left0 "$WORK/vxlan.lua" --netns "$LEFT" --form "$form"
    is "all answered" ip netns exec "$LEFT" timeout 60 python3 -c '
import packets, sys
packets.ask([sys.argv[1]], 7001, 20)
print("all answered")' $INSIDE_RIGHT
    detach
    for side in "$LEFT" "$RIGHT"; do is 0 errors "$side"; done
done
echo "the kernel's own VXLAN answers"
