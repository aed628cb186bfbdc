#!/usr/bin/env bash
# `redirect{socket = …}` at XDP, native and generic, in both forms: frames arrive in control code (`xsk.receive`), which sends some of them on,
# changed (`xsk.send`); two queues of two interfaces; reloads; what is lost is counted; queues that there are not, or that are taken;
# nothing is left of a process that was killed.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin xsk
have ethtool || skip "ethtool is not installed"
have python3 || skip "python3 is not installed"
namespace LEFT left
namespace MIDDLE middle
namespace RIGHT right

# link NAMESPACE NUMBER: host0 in the namespace, with 192.0.2.NUMBER, and portNUMBER in the middle, with two queues each.
link() {
    ip link add host0 netns "$1" address "02:00:00:00:00:0$2" numtxqueues 2 numrxqueues 2 \
        type veth peer name "port$2" netns "$MIDDLE" numtxqueues 2 numrxqueues 2
    ip netns exec "$1" sysctl -q net.ipv6.conf.all.disable_ipv6=1
    ip -n "$1" address add "192.0.2.$2/24" dev host0
    ip -n "$1" link set host0 up
    ip -n "$MIDDLE" link set "port$2" up
    ip netns exec "$1" ethtool -K host0 gro on tx off >/dev/null
    ip netns exec "$MIDDLE" ethtool -K "port$2" gro on >/dev/null
}
ip netns exec "$MIDDLE" sysctl -q net.ipv6.conf.all.disable_ipv6=1
link "$LEFT" 1
link "$RIGHT" 2
ip -n "$LEFT" neigh add 192.0.2.2 lladdr 02:00:00:00:00:02 dev host0
ip -n "$RIGHT" neigh add 192.0.2.1 lladdr 02:00:00:00:00:01 dev host0

# The right host answers each datagram with what it has got, and how many hops the packet had left.
# (12 is IP_RECVTTL.)
ip netns exec "$RIGHT" python3 -c '
import socket
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
    one.setsockopt(socket.IPPROTO_IP, 12, 1)
    one.bind(("", 7000))
    while True:
        data, about, flags, peer = one.recvmsg(2000, 100)
        one.sendto(b"%s %d" % (data, int.from_bytes(about[0][2], "little")), peer)
' &
PIDS+=($!)

# ask TEXT: what the right host answers to the left one.
ask() {
    ip netns exec "$LEFT" python3 -c '
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
    one.settimeout(2)
    one.sendto(sys.argv[1].encode(), ("192.0.2.2", 7000))
    print(one.recv(2000).decode())
' "$1"
}

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

# Frames of either port go out by the other one: through control code.
cat >"$WORK/switch.lua" <<'LUA'
local xdp, xsk = require "xdp", require "xsk"
passed = 0
xdp.attach(function(pkt)
  return redirect { socket = pkt.queue }
end)
for queue = 0, 1 do
  xsk.receive(queue, function(pkt, time)
    assert(pkt.queue == queue and time > 1.6e9)
    if pkt.ip then
      pkt.ip.ttl = pkt.ip.ttl - 1
      passed = passed + 1
    end
    xsk.send(pkt.eth.src == "02:00:00:00:00:01" and "port2" or "port1", pkt)
  end)
end
LUA
for form in expanded general; do
    for mode in native generic; do
        start switch port1,port2 --form "$form" --mode "$mode"
        for text in one two three four five; do is "$text 63" ask $text; done
        is 10 "$MOONHOOK" exec switch -e passed
        stop switch
        [ ! -s "$WORK/switch.err" ] || die "$form code in $mode mode: $(cat "$WORK/switch.err")"
    done
done

# A reload takes over the sockets that the new script wants, too; a list of queues may change.
cat >"$WORK/one.lua" <<'LUA'
local xdp, xsk = require "xdp", require "xsk"
xdp.attach(function(pkt)
  if pkt.queue == 0 then return redirect { socket = 0 } end
  return redirect(pkt.eth.src == "02:00:00:00:00:01" and "port2" or "port1")
end)
xsk.receive(0, function(pkt)
  xsk.send(pkt.eth.src == "02:00:00:00:00:01" and "port2" or "port1", tostring(pkt))
end)
LUA
start switch port1,port2
is "before 63" ask before
"$MOONHOOK" reload switch "$WORK/one.lua" >/dev/null
is "after 64" ask after
"$MOONHOOK" reload switch "$WORK/switch.lua" >/dev/null
is "again 63" ask again

# A reload to a queue that there is not changes nothing.
sed 's/receive(0/receive(5/; s/socket = 0/socket = 5/' "$WORK/one.lua" >"$WORK/none.lua"
fails 3 "$MOONHOOK" reload switch "$WORK/none.lua"
grep -q "MH0530.*'port1' has no queue 5" "$WORK/fails.err" || die "$(cat "$WORK/fails.err")"
is "refused 63" ask refused

# A queue has one socket; the first script goes on.
sed 's/xdp.attach/local function f() end xdp.attach/' "$WORK/one.lua" >"$WORK/other.lua"
ip -n "$MIDDLE" link add spare type veth peer name spare1
ip -n "$MIDDLE" link set spare up
fails 3 ip netns exec "$MIDDLE" "$MOONHOOK" run port1 "$WORK/other.lua" --name other
grep -q "MH0531.*queue 0 of 'port1' has a socket already" "$WORK/fails.err" || die "$(cat "$WORK/fails.err")"
is "still 63" ask still

# Killed, it leaves nothing: sockets, maps and programs go.
kill -KILL "${PIDS[-1]}"
wait "${PIDS[-1]}" 2>/dev/null || true
unset 'PIDS[-1]'
[ -z "$(ip netns exec "$MIDDLE" cat /proc/net/xdp 2>/dev/null | tail -n +2)" ] || die "a socket is left"
ip -n "$MIDDLE" -d link show port1 | grep -q 'prog/xdp' && die "a program is left"
start switch port1,port2
is "new 63" ask new
stop switch

# From outside of the namespace.
"$MOONHOOK" run port1,port2 "$WORK/switch.lua" --netns "$MIDDLE" >"$WORK/switch.out" 2>"$WORK/switch.err" &
PIDS+=($!)
eventually "switch is attached" runs switch
is "outside 63" ask outside
stop switch

# Queues that there are not: nothing is attached. Nor where the script is to be pinned.
fails 3 ip netns exec "$MIDDLE" "$MOONHOOK" run port1 "$WORK/none.lua"
grep -q "MH0530.*'port1' has no queue 5" "$WORK/fails.err" || die "$(cat "$WORK/fails.err")"
ip -n "$MIDDLE" -d link show port1 | grep -q 'prog/xdp' && die "something is attached"
if [ "$(stat -f -c %T /sys/fs/bpf 2>/dev/null)" = bpf_fs ]; then
    fails 3 nsenter --net="/run/netns/$MIDDLE" "$MOONHOOK" run port1 "$WORK/one.lua" --pin
    grep -q "MH0527" "$WORK/fails.err" || die "$(cat "$WORK/fails.err")"
    [ ! -e /sys/fs/bpf/moonhook/one ] || die "a folder for pins is left"
fi

# The kernel takes a moment to let go of a queue that had traffic.
for round in {1..8}; do
    start one port1,port2
    is "$round 64" ask "$round"
    stop one
done

# Errors of handlers, of functions that receive, and of sending have lines; what comes faster than it is read is lost and counted.
cat >"$WORK/errors.lua" <<'LUA'
local xdp, xsk = require "xdp", require "xsk"
xdp.attach(function(pkt)
  if not pkt.udp then return end
  if pkt.payload == "receiver" then return redirect { socket = 2 } end
  if pkt.payload == "queue" then return redirect { socket = 1 - pkt.queue } end
  return redirect { socket = pkt.queue }
end)
sent = 0
local function receive(pkt)
  if pkt.payload == "nowhere" then xsk.send("port9", pkt) end
  if pkt.payload == "short" then xsk.send("port2", "x") end
  if pkt.payload == "long" then xsk.send("port2", tostring(pkt) .. ("x"):rep(9000)) end
  if pkt.payload == "wrong" then xsk.send("port2", pkt.ip) end
  if pkt.payload == "slow" then for i = 1, 2e7 do end end
  sent = sent + 1
end
xsk.receive(0, receive)
xsk.receive(1, receive)
LUA
start errors port1 --json
tell() {
    ip netns exec "$LEFT" python3 -c '
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
    for _ in range(int(sys.argv[2])):
        one.sendto(sys.argv[1].encode(), ("192.0.2.2", 7000))
' "$1" "${2:-1}"
}
says() { eventually "it says: $1" grep -qF "$1" "$WORK/errors.out"; }
tell receiver && says "errors.lua:4: xsk.receive has no function for queue 2"
tell queue && says "errors.lua:5: the frame is not of queue "
tell nowhere && says "errors.lua:10: no interface 'port9'"
tell short && says "errors.lua:11: 1 bytes are no whole frame"
tell long && says "bytes are too many for interface 'port2'"
tell wrong && says "bad argument #2 to 'send' (string expected"
tell slow 1
tell flood 20000
stop errors
grep -q '"lost_events":[1-9]' "$WORK/errors.out" || die "nothing was lost: $(tail -n 1 "$WORK/errors.out")"
echo ok
