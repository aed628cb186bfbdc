#!/usr/bin/env bash
# examples/load_balancer.lua between a client and three servers that have one address: connections are spread by weight, keep their server
# while others go and come, and a server that is taken out gets no new ones; in both forms.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin balancer
for program in ethtool python3 curl; do have "$program" || skip "$program is not installed"; done
namespace CLIENT client
namespace MIDDLE middle
namespace FIRST first
namespace SECOND second

# link NAMESPACE NAME PORT NETWORK MAC: an interface of the host in NAMESPACE, and PORT of the middle.
link() {
    ip link add "$2" netns "$1" address "$5" type veth peer name "$3" netns "$MIDDLE"
    ip -n "$1" address add "192.0.$4.1/24" dev "$2"
    ip -n "$MIDDLE" address add "192.0.$4.254/24" dev "$3"
    ip -n "$1" link set lo up
    ip -n "$1" link set "$2" up
    ip -n "$MIDDLE" link set "$3" up
    ip -n "$1" route add default via "192.0.$4.254"
    # Redirected frames are taken where the receiving end polls, and need whole checksums.
    ip netns exec "$1" ethtool -K "$2" gro on tx off >/dev/null
    ip netns exec "$MIDDLE" ethtool -K "$3" gro on >/dev/null
}
link "$CLIENT" client0 wan 2 02:00:00:00:00:01
link "$FIRST" first0 lan1 3 02:00:00:00:00:11
link "$SECOND" second0 lan2 4 02:00:00:00:00:12
ip netns exec "$MIDDLE" sysctl -q net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.wan.rp_filter=0

# serve NAMESPACE NAME INTERFACE: answers each line of a connection with the server's name, and HTTP with a page that is the name.
serve() {
    ip -n "$1" address add 198.51.100.1/32 dev lo
    ip netns exec "$1" sysctl -q net.ipv4.conf.all.rp_filter=0 "net.ipv4.conf.$3.rp_filter=0"
    ip netns exec "$1" python3 - "$2" >"$WORK/$2.out" 2>"$WORK/$2.err" <<'PYTHON' &
import socketserver, sys

class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        name = sys.argv[1].encode()
        while line := self.rfile.readline():
            if line.startswith(b"GET"):
                self.wfile.write(b"HTTP/1.0 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(name), name))
                return
            self.wfile.write(name + b"\n")

socketserver.ThreadingTCPServer.allow_reuse_address = True
with socketserver.ThreadingTCPServer(("198.51.100.1", 80), Handler) as server:
    print("listening", flush=True)
    server.serve_forever()
PYTHON
    PIDS+=($!)
    eventually "$2 listens" grep -qs listening "$WORK/$2.out"
}
serve "$FIRST" first first0
serve "$SECOND" second second0

# spread COUNT: how many of so many connections each server gets: "first second".
spread() {
    for _ in $(seq "$1"); do
        ip netns exec "$CLIENT" curl -s --max-time 5 http://198.51.100.1/ || echo nobody
        echo
    done | awk '/first/ { first++ } /second/ { second++ } END { print first + 0, second + 0 }'
}
errors() { "$MOONHOOK" list --json | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["errors"])'; }
run_lua() { "$MOONHOOK" exec load_balancer -e "$1"; }

for form in expanded general; do
    attach wan "$REPO/examples/load_balancer.lua" --netns "$MIDDLE" --form "$form"
    # Two of the three have one MAC address and three quarters of the weight; the third one is none of this network's.
    run_lua 'set_server("three", false)'
    read -r first second < <(spread 40)
    [ $((first + second)) = 40 ] || die "$form: only $first and $second of 40 connections"
    [ "$first" -ge 8 ] && [ "$second" -ge 8 ] || die "$form: $first and $second is no even spread"

    # A connection to each server; one is taken out while they are open, and put back.
    ip netns exec "$CLIENT" python3 - "$MOONHOOK" >"$WORK/held" 2>"$WORK/held.err" <<'PYTHON' || die "$form: $(cat "$WORK/held.err")"
import socket, subprocess, sys

def lua(code):
    subprocess.run([sys.argv[1], "exec", "load_balancer", "-e", code], check=True, stdout=subprocess.DEVNULL)

def connect():
    stream = socket.create_connection(("198.51.100.1", 80), timeout=5)
    return stream, stream.makefile("rw")

def ask(held):
    held[1].write("who\n")
    held[1].flush()
    return held[1].readline().strip()

held = {}
while len(held) < 2:
    connection = connect()
    held.setdefault(ask(connection), connection)
lua('set_server("one", false)')
assert ask(held["second"]) == "second", "a connection has moved"
for _ in range(20):
    assert ask(connect()) == "second", "a server that was taken out gets connections"
lua('set_server("one", true)')
names = {ask(connect()) for _ in range(40)}
assert names == {"first", "second"}, names
assert ask(held["second"]) == "second", "a connection has moved"
PYTHON

    # Of the slots, a server that goes leaves those of the others alone, but for one in a hundred.
    is "true" run_lua '
        set_server("three", true)
        local before, moved = {}, 0
        for slot = 0, 4098 do before[slot] = slots[slot] end
        set_server("one", false)
        for slot = 0, 4098 do if before[slot] ~= 1 and slots[slot] ~= before[slot] then moved = moved + 1 end end
        return moved < 40'
    # Each has as many as its weight says.
    is "1 1 2" run_lua '
        set_server("one", true)
        local counts = { 0, 0, 0 }
        for slot = 0, 4098 do counts[slots[slot]] = counts[slots[slot]] + 1 end
        for number = 1, 3 do counts[number] = (counts[number] + 512) // 1024 end
        return table.concat(counts, " ")'
    is 0 errors
    "$MOONHOOK" stop load_balancer >/dev/null
    wait "$RUN" || die "it ended with $?"
    RUN=''
done
