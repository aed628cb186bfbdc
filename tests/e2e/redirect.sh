#!/usr/bin/env bash
# `redirect` between interfaces, at XDP (native and generic) and tc, in both forms: two hosts reach each other through a namespace that has
# no addresses, only a script; names in the code and names from a table; an interface that is removed and made again; one that there is
# none of; a copy of what passes (`tc.clone`); the neighbour that the kernel knows (`tc.redirect_neigh`), over IPv4 and IPv6.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin redirect
have ethtool || skip "ethtool is not installed"
have python3 || skip "python3 is not installed"
namespace LEFT left
namespace MIDDLE middle
namespace RIGHT right

# link NAMESPACE NAME ADDRESS PORT: an interface of the host in NAMESPACE, whose other end is PORT in the middle.
link() {
    ip link add "$2" netns "$1" type veth peer name "$4" netns "$MIDDLE"
    ip -n "$1" address add "$3" dev "$2"
    ip -n "$1" link set "$2" up
    ip -n "$MIDDLE" link set "$4" up
    # A veth device takes redirected frames in native mode only where its receiving end polls.
    ip netns exec "$1" ethtool -K "$2" gro on >/dev/null
    ip netns exec "$MIDDLE" ethtool -K "$4" gro on >/dev/null
    # Checksums that nobody has computed are not to be carried on by XDP.
    ip netns exec "$1" ethtool -K "$2" tx off >/dev/null
}
link "$LEFT" left0 192.0.2.1/24 port1
link "$RIGHT" right0 192.0.2.2/24 port2
ip -n "$MIDDLE" link add seen type veth peer name seen1
ip netns exec "$MIDDLE" sysctl -q net.ipv6.conf.seen.disable_ipv6=1
ip -n "$MIDDLE" link set seen up
ip -n "$MIDDLE" link set seen1 up

# The right host answers datagrams, of both versions of IP.
ip netns exec "$RIGHT" python3 -c '
import socket
with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as one:
    one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    one.bind(("::", 7000))
    while True:
        data, peer = one.recvfrom(2000)
        one.sendto(data, peer)
' &
PIDS+=($!)

# reaches ADDRESS: whether it answers.
reaches() {
    ip netns exec "$LEFT" python3 -c '
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
    one.settimeout(0.5)
    try:
        one.sendto(b"question", (sys.argv[1], 7000))
        sys.exit(one.recv(2000) != b"question")
    except OSError:
        sys.exit(1)
' "${1:-192.0.2.2}"
}
fails_to_reach() { ! reaches; }

# start SCRIPT INTERFACE OPTION…
start() {
    local script=$1 interface=$2
    shift 2
    ip netns exec "$MIDDLE" "$MOONHOOK" run "$interface" "$WORK/$script.lua" --name "$script" "$@" \
        >"$WORK/$script.out" 2>"$WORK/$script.err" &
    PIDS+=($!)
    eventually "$script is attached" runs "$script"
}

stop() {
    for script in "$@"; do "$MOONHOOK" stop "$script" >/dev/null; done
    wait "${PIDS[@]:1}"
    PIDS=("${PIDS[0]}")
}

cat >"$WORK/xdp1.lua" <<'LUA'
require("xdp").attach(function() return redirect("port2") end)
LUA
cat >"$WORK/xdp2.lua" <<'LUA'
local ports = { "port1", "port2" }
require("xdp").attach(function(pkt) return redirect(ports[pkt.eth and 1 or 2]) end)
LUA
cat >"$WORK/tc1.lua" <<'LUA'
require("tc").ingress(function() return redirect("port2") end)
LUA
cat >"$WORK/tc2.lua" <<'LUA'
local tc = require "tc"
tc.ingress(function(pkt)
  if pkt.udp and pkt.udp.sport == 7000 then tc.clone("seen") end
  return redirect("port" .. #"x")
end)
LUA

fails_to_reach || die "the hosts reach each other without a script"
for form in expanded general; do
    for way in "xdp --mode native" "xdp --mode generic" tc; do
        read -r hook options <<<"$way"
        # shellcheck disable=SC2086
        start "${hook}1" port1 --form "$form" $options
        # shellcheck disable=SC2086
        start "${hook}2" port2 --form "$form" $options
        reaches || die "$form code at $way: no answer"
        stop "${hook}1" "${hook}2"
        fails_to_reach || die "$form code at $way: something stayed"
    done
done
copied=$(ip -n "$MIDDLE" -s -j link show seen | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["stats64"]["tx"]["packets"])')
[ "$copied" = 2 ] || die "$copied packets were copied, one in each form was to be"

# A copy passes the very program that sends it, in the middle of a call of it: each has memory of its own.
cat >"$WORK/nested.lua" <<'LUA'
local tc, action = require "tc", require "linux.tc"
dropped = 0
tc.egress(function(pkt)
  local udp = pkt.udp
  if not udp or udp.dport ~= 9 and udp.dport ~= 10 then return end
  local seen, text = { [udp.dport] = #pkt }, "port " .. udp.dport
  if text ~= "port 9" then
    seen[9], text = 1, text .. text .. text
    return seen[9] == 1 and #text == 21 and action.DROP or nil
  end
  udp.dport = 10
  tc.clone("left0")
  if text == "port 9" and seen[9] == #pkt and not seen[10] then
    dropped = dropped + 1
    return action.DROP
  end
end)
LUA
for form in expanded general; do
    ip netns exec "$LEFT" "$MOONHOOK" run left0 "$WORK/nested.lua" --form "$form" >"$WORK/nested.out" 2>"$WORK/nested.err" &
    PIDS+=($!)
    eventually "nested is attached" runs nested
    ip -n "$LEFT" neigh replace 192.0.2.2 lladdr 02:00:00:00:00:02 dev left0
    ip netns exec "$LEFT" python3 -c '
import socket
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
    for _ in range(20):
        one.sendto(b"x", ("192.0.2.2", 9))'
    is 20 "$MOONHOOK" exec nested -e dropped
    stop nested
    [ ! -s "$WORK/nested.err" ] || die "$form: $(cat "$WORK/nested.err")"
    grep -q "DROP 40" "$WORK/nested.out" || die "$form: $(cat "$WORK/nested.out")"
done
ip -n "$LEFT" neigh del 192.0.2.2 dev left0

# One of several names: found in data by which it is, in expanded code, whether or not one of them has been named before.
cat >"$WORK/xdp3.lua" <<'LUA'
local ways = { "seen", "port2", "gone" }
require("xdp").attach(function(pkt)
  if pkt.icmp then return redirect "port2" end
  return redirect(ways[pkt.udp and pkt.udp.dport - 6998 or 2])
end)
LUA
sed /icmp/d "$WORK/xdp3.lua" >"$WORK/xdp4.lua"
sed s/port2/port1/ "$WORK/tc1.lua" >"$WORK/back.lua"
sed 's/require("xdp").attach/require("tc").ingress/' "$WORK/xdp3.lua" >"$WORK/tc3.lua"
sent_to_seen() { ip -n "$MIDDLE" -s -j link show seen | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["stats64"]["tx"]["packets"])'; }
for name in xdp3 xdp4 tc3; do
    for form in expanded general; do
        ip -n "$MIDDLE" link add gone type veth peer name gone1
        start "$name" port1 --form "$form" $([ "$name" = tc3 ] || echo --mode generic)
        start back port2
        eventually "$name, $form: an answer by the second name" reaches
        before=$(sent_to_seen)
        ip -n "$MIDDLE" link del gone
        ip netns exec "$LEFT" python3 -c '
import socket
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
    for port in (6999, 6999, 6999, 7001):
        one.sendto(b"x", ("192.0.2.2", port))'
        eventually "$name, $form: what it lacks" grep -q "$name.lua:[34]: no interface 'gone'" "$WORK/$name.err" "$WORK/$name.out"
        [ "$(sent_to_seen)" = $((before + 3)) ] || die "$name, $form: $(sent_to_seen) packets by the first name after $before"
        stop "$name" back
    done
done

# An interface that goes and comes back has another number; until then handlers have an error, and what passes is dropped or not as
# `--on-error` says.
start tc1 port1
start tc2 port2
eventually "the hosts reach each other" reaches
ip -n "$MIDDLE" link del port2
fails_to_reach || die "an answer out of nowhere"
eventually "the handler says what it lacks" grep -q "tc1.lua:1: no interface 'port2'" "$WORK/tc1.err" "$WORK/tc1.out"
link "$RIGHT" right0 192.0.2.2/24 port2
ip -n "$LEFT" neigh flush dev left0
eventually "the second script is gone with its interface" grep -q "MH0007" "$WORK/tc2.err"
PIDS=("${PIDS[@]:0:2}")
start tc2 port2
eventually "the interface is found again" reaches
stop tc1 tc2

# Interfaces that there are none of: nothing is attached, and a reload keeps what is there.
sed 's/port2/port9/' "$WORK/tc1.lua" >"$WORK/none.lua"
fails 3 ip netns exec "$MIDDLE" "$MOONHOOK" run port1 "$WORK/none.lua"
grep -q "MH0027.*none.lua:1: there is no interface 'port9'" "$WORK/fails.err" || die "$(cat "$WORK/fails.err")"
grep -q "there are .*port1" "$WORK/fails.err" || die "$(cat "$WORK/fails.err")"
fails 3 ip netns exec "$MIDDLE" "$MOONHOOK" run port1 "$WORK/none.lua" --form general
grep -q "MH0027.*none.lua:1: there is no interface 'port9'" "$WORK/fails.err" || die "$(cat "$WORK/fails.err")"
start tc1 port1
fails 3 "$MOONHOOK" reload tc1 "$WORK/none.lua"
grep -q "MH0027" "$WORK/fails.err" || die "$(cat "$WORK/fails.err")"
start tc2 port2
reaches || die "the reload that failed has changed something"
stop tc1 tc2

# The middle routes without looking at frames: the kernel finds the neighbour's address.
cat >"$WORK/route.lua" <<'LUA'
local tc = require "tc"
tc.ingress(function(pkt)
  if pkt.ip and pkt.ip.dst == "198.51.100.1" then return tc.redirect_neigh("port2") end
end)
LUA
ip -n "$MIDDLE" address add 192.0.2.3/24 dev port1
ip -n "$MIDDLE" address add 198.51.100.3/24 dev port2
ip -n "$MIDDLE" route add 198.51.100.1/32 dev port2 2>/dev/null || true
ip -n "$RIGHT" address flush dev right0
ip -n "$RIGHT" address add 198.51.100.1/24 dev right0
ip -n "$RIGHT" route add 192.0.2.0/24 via 198.51.100.3
ip -n "$LEFT" route add 198.51.100.0/24 via 192.0.2.3
ip netns exec "$MIDDLE" sysctl -q net.ipv4.ip_forward=1
ip netns exec "$MIDDLE" sysctl -q net.ipv4.conf.port1.forwarding=0
! reaches 198.51.100.1 || die "the middle forwards without the script"
start route port1
eventually "the neighbour is found" reaches 198.51.100.1
stop route

# The same over IPv6, in both forms, where the interface is one of several names.
cat >"$WORK/route6.lua" <<'LUA'
local tc = require "tc"
local ways = { "seen", "port1", "port2" }
tc.ingress(function(pkt)
  local ip = pkt.ip
  local way = ip and (ip.dst == "2001:db8:2::1" and 3 or ip.dst == "2001:db8:1::1" and 2)
  if way then return tc.redirect_neigh(ways[pkt.udp and way or 1]) end
end)
LUA
ip -n "$MIDDLE" address add 2001:db8:1::3/64 dev port1 nodad
ip -n "$MIDDLE" address add 2001:db8:2::3/64 dev port2 nodad
ip -n "$LEFT" address add 2001:db8:1::1/64 dev left0 nodad
ip -n "$RIGHT" address add 2001:db8:2::1/64 dev right0 nodad
ip -n "$LEFT" route add 2001:db8:2::/64 via 2001:db8:1::3
ip -n "$RIGHT" route add 2001:db8:1::/64 via 2001:db8:2::3
reaches6() {
    ip netns exec "$LEFT" python3 -c '
import socket
with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as one:
    one.settimeout(0.3)
    one.sendto(b"hello", ("2001:db8:2::1", 7000))
    raise SystemExit(one.recv(10) != b"hello")' 2>/dev/null
}
for form in expanded general; do
    ! reaches6 || die "the middle forwards IPv6 without the script"
    start route6 port1,port2 --form "$form"
    eventually "$form: the neighbour is found over IPv6" reaches6
    stop route6
done
echo ok
