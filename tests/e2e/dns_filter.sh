#!/usr/bin/env bash
# examples/dns_filter.lua before a name server: real queries, over IPv4 and IPv6, are answered or not, in both forms.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin dnsfilter
have python3 || skip "python3 is not installed"
veth_pair
ip -n "$LEFT" address add 2001:db8::1/64 dev left0 nodad
ip -n "$RIGHT" address add 2001:db8::2/64 dev right0 nodad
cp "$REPO/examples/dns_filter.lua" "$REPO/examples/suffixes.txt" "$WORK"

# A name server that knows one answer.
ip netns exec "$RIGHT" python3 - >"$WORK/server.out" 2>"$WORK/server.err" <<'PYTHON' &
import packets, select, socket, struct

sockets = packets.servers(["192.0.2.2", "2001:db8::2"], [53])
while True:
    for one in select.select(sockets, [], [])[0]:
        if one.type != socket.SOCK_DGRAM:
            one.accept()[0].close()
            continue
        query, peer = one.recvfrom(4096)
        record = b"\xc0\x0c" + struct.pack("!HHIH", 1, 1, 60, 4) + bytes([192, 0, 2, 80])
        one.sendto(query[:2] + b"\x85\x80" + query[4:6] + b"\0\1\0\0\0\0" + query[12:] + record, peer)
PYTHON
PIDS+=($!)
eventually "the server listens" grep -qs listening "$WORK/server.out"

# ask NAME…: sends a query for each to both addresses; prints the names with what was answered, an address or nothing.
cat >"$WORK/ask.py" <<'PYTHON'
import socket, struct, sys

for number, name in enumerate(sys.argv[1:]):
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split(".") if label)
    query = struct.pack("!6H", number, 0x0100, 1, 0, 0, 0) + labels + struct.pack("!BHH", 0, 1, 1)
    found = []
    for family, address in ((socket.AF_INET, "192.0.2.2"), (socket.AF_INET6, "2001:db8::2")):
        with socket.socket(family, socket.SOCK_DGRAM) as one:
            one.settimeout(1)
            one.sendto(query, (address, 53))
            try:
                answer = one.recv(4096)
                found.append(socket.inet_ntoa(answer[-4:]) if answer[:2] == query[:2] else "another answer")
            except TimeoutError:
                found.append("none")
    print(name, *found)
PYTHON
ask() { ip netns exec "$LEFT" timeout 60 python3 "$WORK/ask.py" "$@"; }

NAMES=(www.example.org tracker.example a.TRACKER.Example nottracker.example tracker.example.org Pixel.Ads.example.net .)
ANSWER="192.0.2.80 192.0.2.80"
ALL=$(printf '%s '"$ANSWER"'\n' "${NAMES[@]}")
SOME="www.example.org $ANSWER
tracker.example none none
a.TRACKER.Example none none
nottracker.example $ANSWER
tracker.example.org $ANSWER
Pixel.Ads.example.net none none
. $ANSWER"

is "$ALL" ask "${NAMES[@]}"
for form in auto general; do
    attach right0 "$WORK/dns_filter.lua" --netns "$RIGHT" --form "$form"
    eventually "moonhook run listens" runs dns_filter
    is "$SOME" ask "${NAMES[@]}"
    is 2 "$MOONHOOK" table dns_filter refused get pixel.ads.example.net
    is 2 "$MOONHOOK" table dns_filter refused get a.tracker.example
    detach
done
is "$ALL" ask "${NAMES[@]}"

echo "everything went as expected"
