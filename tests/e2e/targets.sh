#!/usr/bin/env bash
# `redirect{…}` at XDP, native and generic, in both forms: what one host sends reaches all others of a group, and not itself; an interface of
# the group that is removed and made again; ones that there are none of. Frames go on at the CPU that a script says; one that is not there.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin targets
have ethtool || skip "ethtool is not installed"
have python3 || skip "python3 is not installed"
namespace MIDDLE middle
for host in 1 2 3; do namespace "HOST$host" "host$host"; done

# link NUMBER: the interface host0 of a host, whose other end is portNUMBER in the middle.
link() {
    local host=HOST$1
    ip link add host0 netns "${!host}" address "02:00:00:00:00:0$1" type veth peer name "port$1" netns "$MIDDLE"
    ip -n "${!host}" address add "192.0.2.$1/24" broadcast 192.0.2.255 dev host0
    ip netns exec "${!host}" sysctl -q net.ipv6.conf.all.disable_ipv6=1
    ip -n "${!host}" link set host0 up
    ip -n "$MIDDLE" link set "port$1" up
    ip netns exec "${!host}" ethtool -K host0 gro on tx off >/dev/null
    ip netns exec "$MIDDLE" ethtool -K "port$1" gro on >/dev/null
}
ip netns exec "$MIDDLE" sysctl -q net.ipv6.conf.all.disable_ipv6=1
for host in 1 2 3; do link "$host"; done

# Each host notes who sends to port 7000, in `heard.NUMBER`.
for host in 1 2 3; do
    name=HOST$host
    ip netns exec "${!name}" python3 -uc '
import socket
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
    one.bind(("", 7000))
    while True:
        print(one.recv(2000).decode())
' >"$WORK/heard.$host" &
    PIDS+=($!)
done

# tell TEXT: the first host tells all.
tell() {
    ip netns exec "$HOST1" python3 -c '
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
    one.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
    one.sendto(sys.argv[1].encode(), ("192.0.2.255", 7000))
' "$1"
}
heard() { [ "$(grep -cx "$2" "$WORK/heard.$1")" = "${3:-1}" ]; }
tells() { tell "$1" && sleep 0.2 && grep -qx "$1" "$WORK/heard.$2"; }

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
    "$MOONHOOK" stop "$1" >/dev/null
    wait "${PIDS[-1]}"
    unset 'PIDS[-1]'
}

number=$(ip netns exec "$MIDDLE" cat /sys/class/net/port2/ifindex)
cat >"$WORK/group.lua" <<LUA
local lan, pair = { "port1", "port2", "port3" }, { "port1", $number }
require("xdp").attach(function(pkt)
  local udp = pkt.udp
  if not udp then return end
  return redirect { group = #udp.payload == 4 and pair or lan }
end)
LUA
sed -i 's/#udp.payload/#pkt.payload/' "$WORK/group.lua"

tell nobody
for form in expanded general; do
    for mode in native generic; do
        start group port1 --form "$form" --mode "$mode"
        tell "$form-$mode"
        eventually "the second host hears of $form code in $mode mode" heard 2 "$form-$mode"
        eventually "the third host hears of $form code in $mode mode" heard 3 "$form-$mode"
        tell pair
        eventually "the pair hears" grep -qx pair "$WORK/heard.2"
        sleep 0.2
        ! grep -qx pair "$WORK/heard.3" || die "$form code in $mode mode: the third host is of no such group"
        : >"$WORK/heard.2"
        [ ! -s "$WORK/group.err" ] || die "$(cat "$WORK/group.err")"
        stop group
    done
done
# What a host has told all, it has not heard again; its own kernel has handed it what it has sent to all.
! grep -q nobody "$WORK/heard.3" || die "something is there without a script"
[ "$(sort "$WORK/heard.1" | uniq -d | grep -cv pair)" = 0 ] || die "what was sent came back: $(cat "$WORK/heard.1")"

# An interface of the group that goes, and comes back with another number.
start group port1
eventually "the group is there" tells before 3
ip -n "$MIDDLE" link del port3
tell meanwhile
eventually "the others hear" grep -qx meanwhile "$WORK/heard.2"
link 3
eventually "the interface is of the group again" tells after 3
stop group

# From outside of the namespace.
"$MOONHOOK" run port1 "$WORK/group.lua" --netns "$MIDDLE" >"$WORK/group.out" 2>"$WORK/group.err" &
PIDS+=($!)
eventually "group is attached" runs group
eventually "the group is there from outside, too" tells outside 3
stop group

# Interfaces that there are none of.
for name in '"port9"' 9999; do
    sed "s/\"port2\"/$name/" "$WORK/group.lua" >"$WORK/none.lua"
    for form in expanded general; do
        fails 3 ip netns exec "$MIDDLE" "$MOONHOOK" run port1 "$WORK/none.lua" --form "$form"
        grep -q "MH0027.*none.lua:.*there is no interface '${name//\"/}'" "$WORK/fails.err" || die "$(cat "$WORK/fails.err")"
    done
done

# A server in the middle says at which CPU what it gets has come in (SO_INCOMING_CPU, of connected sockets).
ip -n "$MIDDLE" address add 192.0.2.10/24 dev port1
ip netns exec "$MIDDLE" python3 -c '
import socket
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
    one.bind(("", 7001))
    one.connect(("192.0.2.1", 7002))
    while True:
        one.recv(2000)
        one.send(b"%d" % one.getsockopt(socket.SOL_SOCKET, 49))
' &
PIDS+=($!)
ask() {
    ip netns exec "$HOST1" python3 -c '
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
    one.settimeout(2)
    one.bind(("", 7002))
    one.sendto(b"x" * int(sys.argv[1]), ("192.0.2.10", 7001))
    print(one.recv(100).decode())
' "$1"
}
cat >"$WORK/cpu.lua" <<'LUA'
require("xdp").attach(function(pkt)
  if not pkt.udp then return end
  return redirect { cpu = #pkt.payload - 1, queue = 64 }
end)
LUA
cpus=$(nproc)
[ "$cpus" -gt 1 ] || cpus=1
for form in expanded general; do
    for mode in native generic; do
        start cpu port1 --form "$form" --mode "$mode"
        ask 1 >/dev/null
        for ((cpu = 0; cpu < cpus && cpu < 4; cpu++)); do
            is "$cpu" ask $((cpu + 1))
        done
        [ ! -s "$WORK/cpu.err" ] || die "$(cat "$WORK/cpu.err")"
        # An error passes the frame on.
        ask 1000 >/dev/null
        eventually "the handler says what it lacks" grep -q "cpu.lua:3: no CPU 999" "$WORK/cpu.out" "$WORK/cpu.err"
        stop cpu
    done
done
echo ok
