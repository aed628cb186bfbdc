#!/usr/bin/env bash
# examples/port_forward.lua on a veth: real clients reach a server by another address and port, over IPv4 and IPv6, by TCP and UDP, in
# both forms, with checksums that are left to the network card and without, and no checksum is wrong.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin forward
veth_pair
have python3 || skip "python3 is not installed"
have ethtool || skip "ethtool is not installed"

for side in "$LEFT" "$RIGHT"; do ip -n "$side" link set lo up; done
ip -n "$LEFT" address add 2001:db8::1/64 dev left0 nodad
ip -n "$RIGHT" address add 2001:db8::2/64 dev right0 nodad
ip -n "$LEFT" route add 198.51.100.1 via 192.0.2.2
ip -n "$LEFT" route add 2001:db8:1::1 via 2001:db8::2

# Answers with what it gets and where it came in: TCP and UDP, both families.
ip netns exec "$RIGHT" python3 - >"$WORK/server.out" 2>"$WORK/server.err" <<'PYTHON' &
import packets, select, socket

sockets = packets.servers(["192.0.2.2", "2001:db8::2"], [80])
while True:
    for one in select.select(sockets, [], [])[0]:
        if one.type == socket.SOCK_DGRAM:
            data, peer = one.recvfrom(65536)
            one.sendto(data[::-1], peer)
        else:
            connection, _ = one.accept()
            with connection:
                data = b""
                while part := connection.recv(65536):
                    data += part
                connection.sendall(data[::-1])
PYTHON
PIDS+=($!)
eventually "the server listens" grep -qs listening "$WORK/server.out"

# ask PATIENCE: every service by its other address, with messages of all lengths up to what takes several segments.
ask() {
    ip netns exec "$LEFT" timeout 60 python3 - "$1" <<'PYTHON'
import os, socket, sys

patience = int(sys.argv[1])
for family, address in ((socket.AF_INET, "198.51.100.1"), (socket.AF_INET6, "2001:db8:1::1")):
    for length in (1, 2, 3, 100, 1201):
        data = os.urandom(length)
        with socket.socket(family, socket.SOCK_DGRAM) as one:
            one.settimeout(patience)
            one.connect((address, 8080))
            one.send(data)
            assert one.recv(65536) == data[::-1], (address, length)
    for length in (1, 101, 300000):
        data = os.urandom(length)
        with socket.create_connection((address, 8080), timeout=patience) as one:
            one.sendall(data)
            one.shutdown(socket.SHUT_WR)
            answer = b""
            while part := one.recv(65536):
                answer += part
            assert answer == data[::-1], (address, length)
print("all answered")
PYTHON
}

# errors SIDE: what the namespace has counted of wrong checksums.
errors() {
    ip netns exec "$1" awk '
        FNR == 1 || /^[A-Za-z]+: [A-Z]/ { for (i = 2; i <= NF; i++) name[i] = $i; next }
        { for (i = 2; i <= NF; i++) if (name[i] ~ /Csum|InErrs/) sum += $i }
        END { print sum + 0 }' /proc/net/snmp
    ip netns exec "$1" awk '/CsumErrors|InErrors/ { sum += $2 } END { print sum + 0 }' /proc/net/snmp6
}

for form in auto general; do
    for offload in on off; do
        ip netns exec "$LEFT" ethtool -K left0 tx "$offload" >/dev/null
        ip netns exec "$RIGHT" ethtool -K right0 tx "$offload" >/dev/null
        attach right0 "$REPO/examples/port_forward.lua" --netns "$RIGHT" --form "$form"
        is "all answered" ask 20
        detach
        for side in "$LEFT" "$RIGHT"; do is $'0\n0' errors "$side"; done
    done
done
# Without the script nobody is there.
fails 1 ask 1
