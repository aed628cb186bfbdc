#!/usr/bin/env bash
# examples/ddos.lua under a flood: a million prefixes are blocked, reflectors and sources that send too much are cut off, and good traffic
# loses nothing meanwhile, in both forms.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin ddos
veth_pair
have python3 || skip "python3 is not installed"

# Every /24 of 11.0.0.0 to 26.66.63.255: a million of them.
python3 -c '
print("key,hits")
for number in range(1_000_000):
    place = (11 << 16) + number
    print(f"{place >> 16}.{place >> 8 & 255}.{place & 255}.0/24,0")
' >"$WORK/blocked.csv"

# The right side answers datagrams to port 7000 and counts those to port 9.
ip netns exec "$RIGHT" python3 -c '
import socket, threading
def echo():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.bind(("192.0.2.2", 7000))
        while True:
            data, peer = one.recvfrom(2000)
            one.sendto(data, peer)
threading.Thread(target=echo, daemon=True).start()
counts = {}
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
    one.bind(("192.0.2.2", 9))
    print("listening", flush=True)
    while True:
        data, (peer, port) = one.recvfrom(2000)
        if data == b"end":
            print(*sorted(f"{peer}:{count}" for peer, count in counts.items()), flush=True)
            counts = {}
        else:
            counts[peer] = counts.get(peer, 0) + 1
' >"$WORK/sink.out" 2>"$WORK/sink.err" &
PIDS+=($!)
eventually "the right side listens" grep -qs listening "$WORK/sink.out"
ip netns exec "$RIGHT" sysctl -q net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.right0.rp_filter=0
ip -n "$RIGHT" route add default via 192.0.2.1

# flood SOURCE:SPORT:COUNT…: datagrams to port 9 from addresses that are not the sender's; then `end` from its own.
cat >"$WORK/flood.py" <<'PYTHON'
import packets, socket, struct, sys, time

raw = packets.raw_socket()
for word in sys.argv[1:]:
    source, port, count = word.split(":")
    udp = struct.pack("!HHHH", int(port), 9, 12, 0) + b"evil"
    packet = packets.ipv4(socket.IPPROTO_UDP, source, "192.0.2.2", udp)
    for number in range(int(count)):
        raw.sendto(packet, ("192.0.2.2", 0))
        # A veth device has room for 256 packets: what finds none is lost before any program sees it.
        if number % 50 == 49:
            time.sleep(0.001)
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
    one.sendto(b"end", ("192.0.2.2", 9))
PYTHON

# good: a datagram every two milliseconds, each of which is answered.
cat >"$WORK/good.py" <<'PYTHON'
import socket, time

answers = 0
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
    one.settimeout(2)
    one.connect(("192.0.2.2", 7000))
    for number in range(1000):
        one.send(b"%d" % number)
        answers += one.recv(100) == b"%d" % number
        time.sleep(0.002)
print(answers)
PYTHON

count() { "$MOONHOOK" exec ddos -e "return dropped['$1'] or 0"; }

for form in expanded general; do
    attach right0 "$REPO/examples/ddos.lua" --netns "$RIGHT" --mode native --form "$form"
    "$MOONHOOK" table ddos blocked load "$WORK/blocked.csv" >"$WORK/load.out"
    grep -q 1000000 <("$MOONHOOK" table ddos blocked) || die "$form: $("$MOONHOOK" table ddos blocked)"
    lines=$(wc -l <"$WORK/sink.out")
    ip netns exec "$LEFT" python3 "$WORK/good.py" >"$WORK/good.out" 2>&1 &
    GOOD=$!
    # Blocked ones from the list's first and last prefix, a reflector's, one that is fine, and one that sends too much.
    ip netns exec "$LEFT" python3 "$WORK/flood.py" 11.0.0.7:5:3000 26.66.63.200:5:3000 203.0.113.9:123:2000 203.0.113.1:5:100 203.0.113.66:5:20000
    wait "$GOOD" || die "$form: $(cat "$WORK/good.out")"
    [ "$(cat "$WORK/good.out")" = 1000 ] || die "$form: of 1000 good datagrams $(cat "$WORK/good.out") were answered"
    eventually "the flood has arrived" eval '[ "$(wc -l <"$WORK/sink.out")" -gt '"$lines"' ]'
    arrived=$(tail -n 1 "$WORK/sink.out")
    grep -q '^203.0.113.1:100 203.0.113.66:[0-9]*$' <<<"$arrived" || die "$form: $arrived"
    # A bucketful, and what its rate allows while it was sent: less than ten seconds.
    passed=${arrived##*:}
    [ "$passed" -ge 2000 ] && [ "$passed" -le 12000 ] || die "$form: $passed from one source"
    is 6000 count blocked
    is 2000 count reflected
    is $((20000 - passed)) count "too many"
    is 3000 "$MOONHOOK" exec ddos -e 'return blocked["11.0.0.1"].hits'
    "$MOONHOOK" stop ddos >/dev/null
    wait "$RUN" || die "it ended with $?"
    RUN=''
done
