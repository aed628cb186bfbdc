#!/usr/bin/env bash
# The example examples/flow_updates: two flows get functions by packets, one after the other, while their datagrams arrive at a server.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"
EXAMPLE=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../examples/flow_updates" && pwd)

begin flow_updates
veth_pair
cp "$EXAMPLE"/*.lua "$WORK"
cd "$WORK"
"$MOONHOOK" update-key operator.key >/dev/null

# What arrives at port 7000, a line for each datagram, by the port it came from.
ip netns exec "$RIGHT" python3 -c '
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("192.0.2.2", 7000))
while True:
    data, source = s.recvfrom(2000)
    print(source[1], data.decode(), flush=True)
' >arrived &
SERVER=$!

# send PORT TEXT: a datagram from that port.
send() {
    ip netns exec "$LEFT" python3 -c '
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("192.0.2.1", int(sys.argv[1])))
s.sendto(sys.argv[2].encode(), ("192.0.2.2", 7000))' "$1" "$2"
}

arrives() { eventually "$1 arrives" grep -qx "$1" arrived; }

gives() { [[ "$("$MOONHOOK" exec flows -e "$1" 2>&1 || true)" == "$2" ]]; }

# update PORT FILE: the flow from that port gets the function.
COUNT=0
update() {
    ip netns exec "$LEFT" "$MOONHOOK" send-update 192.0.2.2 --key operator.key "192.0.2.1,192.0.2.2,udp,$1,7000" "$2" >sent
    COUNT=$((COUNT + 1))
    eventually "$2 is taken" gives 'return updates.taken' "$COUNT"
}

try() {
    attach right0 flows.lua --netns "$RIGHT" --name flows --form "$1"
    COUNT=0
    send 5001 "Before-$1"
    arrives "5001 Before-$1"
    update 5001 drop_byte.lua
    send 5001 "B-dropped-$1"
    send 5001 "A-passes-$1"
    send 5002 "B-passes-$1"
    arrives "5001 A-passes-$1"
    arrives "5002 B-passes-$1"
    update 5001 rewrite.lua
    send 5001 "B-rewritten-$1"
    arrives "5001 X-rewritten-$1"
    update 5002 count.lua
    send 5002 "one-$1"
    send 5002 "two-$1"
    arrives "5002 two-$1"
    eventually "two datagrams are counted" gives 'return counts[7000]' 2
    grep -q "dropped-$1" arrived && die "$1: what is dropped arrives"
    finish
}

try auto
try general
kill "$SERVER"
wait "$SERVER" || true
echo "everything went as expected"
