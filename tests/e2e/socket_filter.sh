#!/usr/bin/env bash
# A filter of a socket: what it keeps is shown, written into a capture, and given to control code, VLAN tags included; other frames are not, and
# the frames themselves go on as if nobody had looked.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin socket
have python3 || skip "python3 is not installed"
have tshark || skip "tshark is not installed"
veth_pair

cat >"$WORK/dump.lua" <<'LUA'
local socket = require "socket"
socket.filter(function(pkt) return pkt.udp and pkt.udp.dport == 7001 end, function(pkt, time)
  print("got", pkt.vlan and pkt.vlan.id, pkt.ip.src, pkt.udp.dport, pkt.payload, math.type(time), time > 1.7e9)
  assert(not pcall(pkt.setbyte, pkt, 0, 1))
end)
LUA

# Two datagrams to each of two ports, of which the second has a tag.
cat >"$WORK/send.py" <<'PYTHON'
import packets, socket, struct

with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as raw, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
    raw.bind(("left0", 0))
    for port in (7001, 7002):
        one.sendto(b"plain", ("192.0.2.2", port))
        udp = struct.pack("!4H", 1234, port, 8 + 6, 0) + b"tagged"
        ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 1, 0, 64, 17, 0, bytes([192, 0, 2, 1]), bytes([192, 0, 2, 2]))
        raw.send(b"\xff" * 6 + b"\x02" * 6 + struct.pack("!HHH", 0x8100, 0x3007, 0x0800) + ip + udp)
PYTHON
send() { ip netns exec "$LEFT" python3 "$WORK/send.py"; }
fields() { tshark -r "$WORK/kept.pcap" -T fields -e "$1" 2>"$WORK/tshark.err"; }
has_lines() { [ "$(grep -c "$1" "$WORK/run.out")" = "$2" ]; }

ip netns exec "$RIGHT" python3 - >"$WORK/server.out" 2>"$WORK/server.err" <<'PYTHON' &
import packets, socket

[one] = [one for one in packets.servers(["192.0.2.2"], [7001]) if one.type == socket.SOCK_DGRAM]
while True:
    print(one.recv(100).decode(), flush=True)
PYTHON
PIDS+=($!)
eventually "the server listens" grep -qs listening "$WORK/server.out"

for form in expanded general; do
    attach right0 "$WORK/dump.lua" --netns "$RIGHT" --form "$form"
    send
    eventually "both frames are there" has_lines '^got' 2
    detach
    is $'got\tnil\t192.0.2.1\t7001\tplain\tfloat\ttrue' grep plain "$WORK/run.out"
    is $'got\t7\t192.0.2.1\t7001\ttagged\tfloat\ttrue' grep tagged "$WORK/run.out"
    is 2 grep -Ec '^[0-9:.]{15} 192.0.2.1.[0-9]+ > 192.0.2.2.7001 UDP, (47|52) bytes$' "$WORK/run.out"
    grep -q 'KEEP 2, errors 0, lost events 0' "$WORK/run.out" || die "$(cat "$WORK/run.out")"

    attach right0 "$WORK/dump.lua" --netns "$RIGHT" --form "$form" --write "$WORK/kept.pcap"
    sed 's/7001 end/7002 end/' "$WORK/dump.lua" >"$WORK/other.lua"
    send
    eventually "both frames are there" has_lines '^got' 2
    "$MOONHOOK" reload dump "$WORK/other.lua" >"$WORK/reload.out"
    send
    eventually "the others are there" has_lines '^got' 4
    detach
    is $'7001\n7001\n7002\n7002' fields udp.dstport
    is $'\n7\n\n7' fields vlan.id
    rm "$WORK/kept.pcap"
done
eventually "all datagrams arrive" eval '[ "$(grep -c plain "$WORK/server.out")" = 6 ]'

# A capture that has no room ends the command, which names it.
mkdir "$WORK/small"
mount -t tmpfs -o size=16k none "$WORK/small"
head -c 12288 /dev/zero >"$WORK/small/zeros"
echo 'require("socket").filter(function(pkt) return pkt.udp and pkt.udp.dport == 7002 end)' >"$WORK/large.lua"
attach right0 "$WORK/large.lua" --netns "$RIGHT" --write "$WORK/small/kept.pcap"
ip netns exec "$LEFT" python3 -c '
import socket
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
    for _ in range(10): one.sendto(b"x" * 1000, ("192.0.2.2", 7002))'
status=0
wait "$RUN" || status=$?
RUN=''
umount "$WORK/small"
is 3 echo "$status"
grep -q "cannot write $WORK/small/kept.pcap: No space left" "$WORK/run.err" || die "$(cat "$WORK/run.err")"

fails 3 "$MOONHOOK" run right0 "$WORK/dump.lua" --netns "$RIGHT" --pin --bpffs /sys/fs/bpf/mh-socket-$$
grep -q MH0527 "$WORK/fails.err" || die "$(cat "$WORK/fails.err")"
[ ! -e "/sys/fs/bpf/mh-socket-$$/dump" ] || die "left behind: $(ls "/sys/fs/bpf/mh-socket-$$/dump")"
rmdir "/sys/fs/bpf/mh-socket-$$"

# Without an Ethernet header no field would be where it is looked for; and a raw socket takes a capability of its own.
if ip -n "$RIGHT" tuntap add dev tun0 mode tun 2>"$WORK/log"; then
    fails 3 "$MOONHOOK" run tun0 "$WORK/dump.lua" --netns "$RIGHT"
    grep -q MH0523 "$WORK/fails.err" || die "$(cat "$WORK/fails.err")"
fi
if have setpriv; then
    fails 3 setpriv --bounding-set=-all,+bpf,+net_admin,+perfmon,+sys_admin "$MOONHOOK" run right0 "$WORK/dump.lua" --netns "$RIGHT"
    grep -q 'MH0501.*opening a raw socket needs CAP_NET_RAW' "$WORK/fails.err" || die "$(cat "$WORK/fails.err")"
fi
