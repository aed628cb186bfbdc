#!/usr/bin/env bash
# IP in IP between two hosts, both ways, in both forms: what leaves is put inside another packet at tc, what comes in is taken out at XDP or
# at tc; IPv4 and IPv6 inside IPv4 and IPv6, with packets that the kernel is still to cut into segments. No checksum is wrong.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin tunnel
veth_pair
have python3 || skip "python3 is not installed"
have ethtool || skip "ethtool is not installed"

for side in "$LEFT" "$RIGHT"; do ip -n "$side" link set lo up; done
ip -n "$LEFT" address add 2001:db8::1/64 dev left0 nodad
ip -n "$RIGHT" address add 2001:db8::2/64 dev right0 nodad
# What is inside leaves room for the outer header.
for route in "$LEFT left0 192.0.2.2" "$RIGHT right0 192.0.2.1" "$LEFT left0 2001:db8::2" "$RIGHT right0 2001:db8::1"; do
    read -r space name target <<<"$route"
    ip -n "$space" route add "$target" dev "$name" mtu 1460
done
# What comes in at XDP has the checksums that the wire has.
ip netns exec "$LEFT" ethtool -K left0 tx off >/dev/null

# script NAME OUTER-ADDRESSES INGRESS: hosts tell packets of neighbour discovery from others by their hop limit.
script() {
    cat >"$WORK/$1.lua" <<LUA
local tc = require "tc"
tc.egress(function(pkt)
  local ip = pkt.ip
  if ip and (pkt.tcp or pkt.udp) then pkt:encap($2, 9) end
end)
local function take_out(pkt, drop)
  local ip = pkt.ip
  if not ip or pkt.icmp then return end
  if ip.proto ~= 4 and ip.proto ~= 41 or ip.ttl ~= 9 then return drop end
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
for form in auto general; do
    for outer in '"198.51.100.1", "198.51.100.2"' '"2001:db8:1::1", "2001:db8:1::2"'; do
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
echo "packets inside others are answered by such"
