#!/usr/bin/env bash
# examples/syn_flood.lua on a veth: one source sends SYNs in a burst, of which a bucketful gets through; others do not notice.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin syn
veth_pair
have python3 || skip "python3 is not installed"

# send COUNT SOURCE…: COUNT SYNs from each source to port 9 of the right side, over raw sockets.
send() {
    ip netns exec "$LEFT" python3 - "$@" <<'PYTHON'
import packets, socket, struct, sys

raw, count, target = packets.raw_socket(), int(sys.argv[1]), "192.0.2.2"
for source in sys.argv[2:]:
    addresses = socket.inet_aton(source) + socket.inet_aton(target)
    for port in range(count):
        syn = struct.pack("!HHIIBBHHH", 10000 + port, 9, 1, 0, 0x50, 2, 1024, 0, 0)
        check = packets.checksum(addresses + struct.pack("!HH", 6, len(syn)) + syn)
        syn = syn[:16] + struct.pack("!H", check) + syn[18:]
        raw.sendto(packets.ipv4(socket.IPPROTO_TCP, source, target, syn), (target, 0))
PYTHON
}

# TCP segments that came in on the right side.
arrived() {
    ip netns exec "$RIGHT" awk '$1 == "Tcp:" && $2 ~ /^[0-9]/ { print $11 }' /proc/net/snmp
}

# expect WHAT LEAST MOST: checks how many segments came in since the last call. More than are expected have a moment to do so.
SEEN=0
expect() {
    local now difference
    eventually "$1: $2 segments" eval '[ "$(arrived)" -ge '"$((SEEN + $2))"' ]'
    sleep 0.3
    now=$(arrived)
    difference=$((now - SEEN))
    SEEN=$now
    [ "$difference" -ge "$2" ] && [ "$difference" -le "$3" ] || die "$1: $difference segments, not $2 to $3"
}

attach right0 "$REPO/examples/syn_flood.lua" --netns "$RIGHT" --mode native
SEEN=$(arrived)
send 10 192.0.2.50
expect "a few SYNs" 10 10
# 50 at once, and one more for each twentieth of a second that sending takes.
send 400 192.0.2.60
expect "a burst" 50 150
send 10 192.0.2.51 192.0.2.52
expect "other sources during it" 20 20
sleep 1.5
send 20 192.0.2.60
expect "the same source later" 20 20
[ "$("$MOONHOOK" table syn_flood sources dump --csv | grep -c '^192')" = 4 ] || die "there are not four sources"
kill -INT "$RUN"
wait "$RUN" || die "it ended with $?"
RUN=
echo "a burst was limited, others were not"
