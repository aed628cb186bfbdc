#!/usr/bin/env bash
# pkt.ct of real connections, TCP and UDP over IPv4 and IPv6, in both forms: at XDP and tc by a lookup, at netfilter as the packet has it. Marks
# that a handler at tc writes are seen at netfilter, by rules of iptables, and by the other handlers.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin conntrack
veth_pair
have python3 || skip "python3 is not installed"
have iptables || skip "iptables is not installed"
for side in "$LEFT" "$RIGHT"; do ip -n "$side" link set lo up; done
ip -n "$LEFT" address add 2001:db8::1/64 dev left0 nodad
ip -n "$RIGHT" address add 2001:db8::2/64 dev right0 nodad
# Connections are tracked where a rule asks for their states; this one counts what has the mark.
for tool in iptables ip6tables; do
    ip netns exec "$RIGHT" "$tool" -A INPUT -m conntrack --ctstate NEW,ESTABLISHED -m connmark --mark 77 -j ACCEPT \
        2>"$WORK/log" || skip "iptables cannot ask for connections: $(tail -n 1 "$WORK/log")"
done

cat >"$WORK/right.lua" <<'LUA'
local tc, xdp, netfilter, nf, ct = require "tc", require "xdp", require "netfilter", require "linux.nf", require "linux.ct"
at_xdp, at_tc, at_netfilter, wrong = 0, 0, 0, 0
xdp_new, xdp_none, marked, answers, confirmed, without = 0, 0, 0, 0, 0, 0
local function seen(pkt) return (pkt.tcp or pkt.udp) and pkt.ct end

xdp.attach(function(pkt)
  local found = seen(pkt)
  if not found then xdp_none = xdp_none + 1 return end
  if found.state == "established" then at_xdp = at_xdp + 1
  elseif found.state == "new" then xdp_new = xdp_new + 1
  else wrong = wrong + 1 end
  if found.reply then wrong = wrong + 1 end
end)
tc.ingress(function(pkt)
  local found = seen(pkt)
  if not found then return end
  if found.status & ct.status.CONFIRMED == 0 then wrong = wrong + 1 end
  if found.mark == 0 then found.mark = 77 end
  if pkt.ct.mark ~= 77 then wrong = wrong + 1 end
  at_tc = at_tc + 1
end)
tc.egress(function(pkt)
  local found = seen(pkt)
  if found and found.reply and found.state == "established" then answers = answers + 1 end
end)
netfilter.register { pf = nf.proto.INET, hooknum = nf.inet.LOCAL_IN, priority = 7, hook = function(pkt)
  local found = seen(pkt)
  if not found then without = without + 1 return end
  if found.state == "new" or found.state == "established" then at_netfilter = at_netfilter + 1 else wrong = wrong + 1 end
  if found.mark == 77 then marked = marked + 1 end
  if found.status & ct.status.CONFIRMED ~= 0 then confirmed = confirmed + 1 end
end }
LUA

serve_pair 7000

ask() { ask_pair 7000 20; }
of() { "$MOONHOOK" exec right -e "print($1)" 2>&1; }
# counted TOOL: what the rule has counted.
counted() { ip netns exec "$RIGHT" "$1" -L INPUT -v -x -n | awk '/connmark|mark match/ { print $1 }'; }

for form in auto general; do
    before=$(counted iptables) before6=$(counted ip6tables)
    attach right0 "$WORK/right.lua" --name right --netns "$RIGHT" --form "$form"
    is "all answered" ask
    is "0" of wrong
    is "true" of "at_xdp > 20 and at_tc > 20 and at_netfilter > 40 and marked > 20 and answers > 20 and confirmed > 20 and xdp_none > 0"
    echo "$form: $(of 'at_xdp, xdp_new, xdp_none, at_tc, at_netfilter, marked, answers, confirmed, without')"
    [ "$(counted iptables)" -gt "$before" ] && [ "$(counted ip6tables)" -gt "$before6" ] || die "no rule has seen a mark"
    detach
    if grep -hs "errors [1-9]" "$WORK"/*.out; then die "$form: $(cat "$WORK"/*.err)"; fi
done
echo "connections were seen at XDP, tc and netfilter"
