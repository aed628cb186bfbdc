#!/usr/bin/env bash
# examples/router.lua between two networks, with `pkt:route()` at XDP and `route(pkt)` at tc: TCP and UDP over IPv4 and IPv6 pass it and not the
# kernel behind it, in both forms; what it leaves to the kernel works: neighbours, ICMP errors, packets for the router itself; routes that change are seen at once.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin router
have ethtool || skip "ethtool is not installed"
have python3 || skip "python3 is not installed"
need_bpffs
namespace LEFT left
namespace MIDDLE middle
namespace RIGHT right

# link NAMESPACE NAME NUMBER PORT: as `routed`; redirected frames are taken where the receiving end polls, and need whole checksums.
link() {
    routed "$@"
    ip netns exec "$1" ethtool -K "$2" gro on tx off >/dev/null
    ip netns exec "$MIDDLE" ethtool -K "$4" gro on >/dev/null
}
link "$LEFT" left0 2 port1
link "$RIGHT" right0 3 port2
ip netns exec "$MIDDLE" sysctl -q net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1

# The right host echoes datagrams and streams.
ip netns exec "$RIGHT" python3 - >"$WORK/server.out" 2>"$WORK/server.err" <<'PYTHON' &
import packets, select, socket

sockets = packets.servers(["192.0.3.1", "2001:db8:3::1"], [7000])
while True:
    for one in select.select(sockets, [], [])[0]:
        if one.type == socket.SOCK_DGRAM:
            data, peer = one.recvfrom(65536)
            one.sendto(data, peer)
        else:
            stream, _ = one.accept()
            with stream:
                while data := stream.recv(65536):
                    stream.sendall(data)
PYTHON
PIDS+=($!)
eventually "the server listens" grep -qs listening "$WORK/server.out"

# ask: what passes: a datagram each, and 300 KB of a stream there and back, over both families.
cat >"$WORK/ask.py" <<'PYTHON'
import socket, threading

for family, address in ((socket.AF_INET, "192.0.3.1"), (socket.AF_INET6, "2001:db8:3::1")):
    with socket.socket(family, socket.SOCK_DGRAM) as one:
        one.settimeout(1)
        one.connect((address, 7000))
        for attempt in range(5):
            one.send(b"question")
            try:
                if one.recv(100) == b"question":
                    break
            except OSError:
                pass
        else:
            raise SystemExit(f"no answer from {address}")
    with socket.create_connection((address, 7000), timeout=10) as one:
        sent = bytes(range(250)) * 1200
        def send():
            one.sendall(sent)
            one.shutdown(socket.SHUT_WR)
        sender = threading.Thread(target=send)
        sender.start()
        received = b""
        while data := one.recv(65536):
            received += data
        sender.join()
        if received != sent:
            raise SystemExit(f"{len(received)} of {len(sent)} bytes from {address}")
print("all")
PYTHON
ask() { ip netns exec "$LEFT" timeout 60 python3 "$WORK/ask.py"; }

# start INTERFACE SCRIPT OPTION…
start() {
    local interface=$1 script=$2
    shift 2
    "$MOONHOOK" run "$interface" "$script" --netns "$MIDDLE" --name "${interface%,*}" "$@" \
        >"$WORK/$interface.out" 2>"$WORK/$interface.err" &
    PIDS+=($!)
    eventually "$interface has its script" runs "${interface%,*}"
}

stop() {
    for interface in "$@"; do "$MOONHOOK" stop "$interface" >/dev/null; done
    wait "${PIDS[@]:1}"
    PIDS=("${PIDS[0]}")
}

# forwarded: how many packets the kernel itself has forwarded.
forwarded() {
    ip netns exec "$MIDDLE" cat /proc/net/snmp /proc/net/snmp6 |
        awk '/^Ip: [0-9]/ { sum += $7 } /^Ip6OutForwDatagrams/ { sum += $2 } END { print sum }'
}

is all ask
sed 's/require "xdp"/require "tc"/; s/xdp.attach/xdp.ingress/; s/pkt:route()/route(pkt)/' "$REPO/examples/router.lua" >"$WORK/tc.lua"
for form in expanded general; do
    for script in "$REPO/examples/router.lua" "$WORK/tc.lua"; do
        start port1 "$script" --form "$form"
        start port2 "$script" --form "$form"
        is all ask
        before=$(forwarded)
        is all ask
        kernel=$(($(forwarded) - before))
        [ "$kernel" -le 8 ] || die "$form code, $script: the kernel has forwarded $kernel packets"
        # What the router leaves alone: an error comes from it, and itself answers.
        is "192.0.2.254 2001:db8:2::fe" ip netns exec "$LEFT" timeout 20 python3 -c '
import socket, struct
found = []
for family, option, address in ((socket.AF_INET, (socket.IPPROTO_IP, 11), "192.0.3.1"),
                                (socket.AF_INET6, (socket.IPPROTO_IPV6, 25), "2001:db8:3::1")):
    with socket.socket(family, socket.SOCK_DGRAM) as one:
        one.setsockopt(*option, 1)
        one.settimeout(5)
        if family == socket.AF_INET:
            one.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, 1)
        else:
            one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_UNICAST_HOPS, 1)
        one.connect((address, 7000))
        one.send(b"x")
        try:
            one.recv(10)
        except OSError:
            pass
        _, ancillary, _, _ = one.recvmsg(100, 500, socket.MSG_ERRQUEUE)
        offender = ancillary[0][2][16:]
        host = offender[4:8] if family == socket.AF_INET else offender[8:24]
        found.append(socket.inet_ntop(family, host))
print(*found)'
        stop port1 port2
    done
done

# One command for both interfaces. A route that is changed counts for the next packet.
start port1,port2 "$REPO/examples/router.lua"
is all ask
[ "$("$MOONHOOK" list --json | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["interface"])')" = port1,port2 ] ||
    die "the list does not show both"
ip -n "$MIDDLE" route add prohibit 192.0.3.1/32
! ask >/dev/null 2>&1 || die "a prohibited address answers"
ip -n "$MIDDLE" route del prohibit 192.0.3.1/32
is all ask
"$MOONHOOK" reload port1 >/dev/null
is all ask
# One of them goes: the other one stays, and it is said.
ip -n "$MIDDLE" link del port2
eventually "the end of an interface is told" grep -q "the interface 'port2' is gone, and with it the program at xdp port2" "$WORK/port1,port2.err"
"$MOONHOOK" exec port1 -e 1 >/dev/null
stop port1

# Pinned at both, taken over by a run at one of them, and by one at both again: what stays is replaced in its place.
link "$RIGHT" right0 3 port2
shown() { "$MOONHOOK" list --bpffs "$BPFFS" --json | python3 -c 'import json, sys; print(*[" ".join(str(one[key]) for key in ("interface", "hook", "pinned", "incomplete")) for one in json.load(sys.stdin)])'; }
for places in port1,port2 port1 port1,port2; do
    start "$places" "$REPO/examples/router.lua" --pin --bpffs "$BPFFS"
    kill -KILL "${PIDS[1]}"
    wait "${PIDS[1]}" 2>/dev/null || true
    PIDS=("${PIDS[0]}")
    case $places in
    port1) is "port1 xdp True False" shown ;;
    *) is "port1,port2 xdp port1, xdp port2 True False" shown ;;
    esac
done
is all ask
ip -n "$MIDDLE" link del port2
is "port1,port2 xdp port1 True True" shown
fails 3 "$MOONHOOK" run port1,port7 "$REPO/examples/router.lua" --netns "$MIDDLE" --name port1 --pin --bpffs "$BPFFS"
is "port1,port2 xdp port1 True True" shown
"$MOONHOOK" stop port1 --bpffs "$BPFFS" >/dev/null
is "" shown
[ -z "$(find "$WORK/run" -mindepth 1 2>/dev/null)" ] || die "left behind: $(find "$WORK/run")"
