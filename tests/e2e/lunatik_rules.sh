#!/usr/bin/env bash
# Handlers of netfilter at every named priority, beside rules of iptables (both kinds) and of nft at the same places and priorities, whoever comes
# first: each drops what it is to drop, over IPv4 and IPv6, and when the handlers go the rules stay as they were.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin lunatik-rules
for tool in python3 nft iptables-legacy iptables-nft; do
    have $tool || skip "$tool is not installed"
done
namespace NETNS one
ip -n "$NETNS" link set lo up
inside() { ip netns exec "$NETNS" "$@"; }

# Of ports that begin with 70 to 73 handlers refuse those at 4 points and 6 priorities, by the last two digits.
cat >"$WORK/every.lua" <<'LUA'
local netfilter = require "netfilter"
local nf = require "linux.nf"
local points = { nf.inet.PRE_ROUTING, nf.inet.LOCAL_IN, nf.inet.LOCAL_OUT, nf.inet.POST_ROUTING }
local named = nf.ip.pri
local priorities = { named.RAW, named.MANGLE, named.NAT_DST, named.FILTER, named.SECURITY, named.NAT_SRC }

local function refuse(port)
  return function(skb)
    local packet = skb:data()
    local six = packet:getuint8(0) >> 4 == 6
    local at = six and 40 or (packet:getuint8(0) & 0x0f) * 4
    if packet:getuint8(six and 6 or 9) ~= 17 then return nf.action.ACCEPT end
    local to = packet:getuint8(at + 2) << 8 | packet:getuint8(at + 3)
    return to == port and nf.action.DROP or nf.action.ACCEPT
  end
end

for i, point in ipairs(points) do
  for j, priority in ipairs(priorities) do
    netfilter.register { pf = nf.proto.INET, hooknum = point, priority = priority, hook = refuse(7000 + 10 * i + j) }
  end
end
LUA

# dropped: the ports that do not get what is sent to them, of both families; those that are no one's are told if one of them does not.
cat >"$WORK/dropped.py" <<'PYTHON'
import select, socket

dropped = {}
for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
    sockets = {}
    for port in range(7000, 7400):
        server = socket.socket(family, socket.SOCK_DGRAM)
        server.bind((address, port))
        sockets[server] = port
    with socket.socket(family, socket.SOCK_DGRAM) as client:
        for port in sockets.values():
            try:
                client.sendto(b"x", (address, port))
            except PermissionError:
                pass
    missing = set(sockets.values())
    while missing:
        ready, _, _ = select.select(sockets, [], [], 0.7)
        if not ready:
            break
        for server in ready:
            server.recv(10)
            missing.discard(sockets[server])
    dropped[family] = missing
    for server in sockets:
        server.close()
if dropped[socket.AF_INET] != dropped[socket.AF_INET6]:
    print("families differ:", dropped)
print(*sorted(dropped[socket.AF_INET]))
PYTHON
dropped() { inside timeout 60 python3 "$WORK/dropped.py"; }

# ports FIRST: those of 4 points and 6 priorities.
ports() {
    local i j
    for i in 1 2 3 4; do for j in 1 2 3 4 5 6; do printf '%s ' $(($1 + 10 * i + j)); done; done
}

# Rules of both kinds of iptables: in each table, at each of its chains that packets of this host pass.
iptables_rules() {
    local kind=$1 first=$2 family i=0 place
    for place in "raw PREROUTING" "raw OUTPUT" "mangle PREROUTING" "mangle INPUT" "mangle OUTPUT" "mangle POSTROUTING" "filter INPUT" "filter OUTPUT" "security INPUT" "security OUTPUT"; do
        i=$((i + 1))
        for family in iptables ip6tables; do
            # shellcheck disable=SC2086 # a table and a chain
            inside $family-$kind -w -t ${place% *} -A ${place#* } -p udp --dport $((first + i)) -j DROP
        done
    done
}
rules() {
    iptables_rules legacy 7100
    iptables_rules nft 7200
    {
        echo 'table inet beside {'
        local i=0 j hook priority
        for hook in prerouting input output postrouting; do
            i=$((i + 1)) j=0
            for priority in -300 -150 -100 0 50 100; do
                j=$((j + 1))
                echo "chain ${hook}_$j { type filter hook $hook priority $priority; udp dport $((7300 + 10 * i + j)) drop; }"
            done
        done
        echo '}'
    } | inside nft -f -
}
no_rules() {
    local kind table
    for kind in legacy nft; do
        for table in raw mangle filter security; do
            for family in iptables ip6tables; do inside $family-$kind -w -t $table -F; done
        done
    done
    inside nft delete table inet beside
}

OURS=$(ports 7000)
THEIRS=$(echo 71{01..10} 72{01..10} && ports 7300)
both() { echo $OURS $THEIRS; }

is '' dropped
for at in link queue; do
    # Ours first, and rules of others behind them.
    attach "$WORK/every.lua" --root "$WORK" --at $at --netns "$NETNS"
    is "$(echo $OURS)" dropped
    rules
    is "$(both)" dropped
    finish
    is "$(echo $THEIRS)" dropped
    # The rules first: handlers get the next free priority where the kernel gives a place to one only.
    attach "$WORK/every.lua" --root "$WORK" --at $at --netns "$NETNS"
    is "$(both)" dropped
    finish
    is "$(echo $THEIRS)" dropped
    no_rules
    is '' dropped
done
echo "24 handlers, and 44 rules of iptables and nft at the same places, each dropped what it was to, in the kernel and from queues"
