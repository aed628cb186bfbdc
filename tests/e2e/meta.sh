#!/usr/bin/env bash
# What a handler at XDP puts in front of packets is there at tc, in native and generic mode, in both forms: for datagrams, for segments that the
# kernel puts together, and for frames with a tag among their bytes. Another script, at the same place, does not see it.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin meta
veth_pair
have python3 || skip "python3 is not installed"
have ethtool || skip "ethtool is not installed"
for side in "$LEFT" "$RIGHT"; do ip -n "$side" link set lo up; done
ip -n "$LEFT" address add 2001:db8::1/64 dev left0 nodad
ip -n "$RIGHT" address add 2001:db8::2/64 dev right0 nodad
# Segments are put together behind XDP, too.
ip netns exec "$RIGHT" ethtool -K right0 gro on >/dev/null
# What leaves with a tag beside it has it among the bytes where XDP sees it.
ip netns exec "$LEFT" ethtool -K left0 tx-vlan-hw-insert off >/dev/null

cat >"$WORK/left.lua" <<'LUA'
require("tc").egress(function(pkt)
  if pkt.ip and pkt.ip.version == 6 then pkt:push_vlan(7) end
end)
LUA
cat >"$WORK/right.lua" <<'LUA'
local tc, xdp = require "tc", require "xdp"
noted, wrong, missing, large, tagged = 0, 0, 0, 0, 0
local function of(pkt)
  local l4 = pkt.tcp or pkt.udp
  return l4 and 0x0123456700000000 | l4.sport << 16 | l4.dport or -1
end
xdp.attach(function(pkt)
  pkt.meta = 7
  pkt.meta = of(pkt)
  if pkt.meta ~= of(pkt) then wrong = wrong + 1 end
end)
tc.ingress(function(pkt)
  -- Of packets in pages of their own the kernel copies all for this.
  local last = pkt:getbyte(#pkt - 1)
  if pkt.ip and pkt.ip.ttl > 1 then pkt.ip.tos = 0 end
  if #pkt > 3000 then large = large + 1 end
  if pkt.vlan then
    tagged = tagged + 1
    pkt:pop_vlan()
  end
  local meta = pkt.meta
  if meta == nil then missing = missing + 1
  elseif meta ~= of(pkt) then wrong = wrong + 1
  else noted = noted + 1 end
end)
tc.egress(function(pkt)
  if pkt.meta then wrong = wrong + 1 end
end)
LUA
# The same with a record: of fields that are there or not, of both kinds.
cat >"$WORK/record.lua" <<'LUA'
local tc, xdp = require "tc", require "xdp"
noted, wrong, missing, large, tagged = 0, 0, 0, 0, 0
local function is(pkt, m)
  local l4 = pkt.tcp or pkt.udp
  return m.high == 0x0123456700000000 and m.sport == (l4 and l4.sport) and m.dport == (l4 and l4.dport or -1)
    and m.is_tcp == (pkt.tcp ~= nil) and m.changed == true and m.gone == nil
end
xdp.attach(function(pkt)
  local l4 = pkt.tcp or pkt.udp
  pkt.meta = 7
  pkt.meta = { high = 0x0123456700000000, sport = l4 and l4.sport, dport = l4 and l4.dport or -1, gone = 5 }
  local m = pkt.meta
  m.is_tcp = pkt.tcp ~= nil
  m.gone, m.changed = nil, true
  if not is(pkt, pkt.meta) then wrong = wrong + 1 end
end)
tc.ingress(function(pkt)
  local last = pkt:getbyte(#pkt - 1)
  if pkt.ip and pkt.ip.ttl > 1 then pkt.ip.tos = 0 end
  if #pkt > 3000 then large = large + 1 end
  if pkt.vlan then
    tagged = tagged + 1
    pkt:pop_vlan()
  end
  local meta = pkt.meta
  if meta == nil then missing = missing + 1
  elseif type(meta) ~= "userdata" or not is(pkt, meta) then wrong = wrong + 1
  else noted = noted + 1 end
end)
tc.egress(function(pkt)
  if pkt.meta then wrong = wrong + 1 end
end)
LUA
cat >"$WORK/other.lua" <<'LUA'
seen, unseen = 0, 0
require("tc").ingress(function(pkt)
  if pkt.meta then seen = seen + 1 else unseen = unseen + 1 end
end)
LUA

serve_pair 7000

ask() { ask_pair 7000 20 "[1, 101, 3000000]"; }
of() { "$MOONHOOK" exec "$1" -e "print($2)" 2>&1; }

is "all answered" ask
for mode in native generic; do
    for run in "auto right" "general right" "auto record" "general record"; do
        read -r form script <<<"$run"
        attach right0 "$WORK/$script.lua" --name right --netns "$RIGHT" --form "$form" --mode "$mode"
        "$MOONHOOK" run right0 "$WORK/other.lua" --name other --netns "$RIGHT" --form "$form" \
            >"$WORK/other.out" 2>"$WORK/other.err" &
        PIDS+=($!)
        eventually "the other script is attached" runs other
        "$MOONHOOK" run left0 "$WORK/left.lua" --name left --netns "$LEFT" >"$WORK/left.out" 2>"$WORK/left.err" &
        PIDS+=($!)
        eventually "the left script is attached" runs left
        is "all answered" ask
        echo "$mode $form $script: $(of right 'noted, wrong, missing, large, tagged') $(of other 'seen, unseen')"
        is "0	0" of right "wrong, missing"
        is "true" of right "noted > 100 and tagged > 20"
        # Of segments in one file the notes are alike, so that they are put together.
        is "true" of right "large > 0"
        is "true" of other "seen == 0 and unseen > 100"
        for name in left other; do
            "$MOONHOOK" stop "$name" >/dev/null
            wait "${PIDS[-1]}"
            unset 'PIDS[-1]'
        done
        detach
        if grep -hs "errors [1-9]" "$WORK"/*.out; then die "$mode, $form, $script: $(cat "$WORK"/*.err)"; fi
    done
done
echo "what XDP has put in front of packets was there at tc"
