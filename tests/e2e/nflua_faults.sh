#!/usr/bin/env bash
# What goes wrong with NFLua's states stops no other: nobody reads what one prints; one has no memory left; packets wait when it ends.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin nflua-faults
have python3 || skip "python3 is not installed"
have iptables || skip "iptables is not installed"
need_bpffs
export MOONHOOK_NFLUA=$WORK/faults-$$.socket
namespace INSIDE inside
ip -n "$INSIDE" link set lo up

# As `ip netns exec`, which hides pins.
inside() { nsenter --net="/run/netns/$INSIDE" "$@"; }
nflua() { inside "$MOONHOOK" nflua "$@"; }

# start FILE [OPTION…]: what it prints goes to the file, the rest to run.err.
start() {
    nsenter --net="/run/netns/$INSIDE" "$MOONHOOK" nflua run "${@:2}" >"$1" 2>"$WORK/run.err" </dev/null &
    RUN=$!
    eventually "the process listens" listens
}
listens() { nflua list >/dev/null 2>&1; }
end() {
    kill -TERM "$RUN"
    wait "$RUN" || die "it ended with $?: $(cat "$WORK/run.err")"
}

# Nobody reads what a state prints: it goes on, as the others do, and how much is lost is told.
mkfifo "$WORK/fifo"
exec 9<>"$WORK/fifo"
start "$WORK/fifo"
nflua create prints 1000000
nflua create other
timeout 20 nsenter --net="/run/netns/$INSIDE" "$MOONHOOK" nflua execute prints -e 'for i = 1, 20000 do print(("x"):rep(100)) end' \
    || die "printing waits for a reader"
timeout 5 nsenter --net="/run/netns/$INSIDE" "$MOONHOOK" nflua execute other -e 'local x = 1' || die "another state waits for a reader"
timeout 60 cat <&9 >"$WORK/printed" &
READER=$!
PIDS+=("$READER")
lost() { sed -n 's/^nflua: \([0-9]*\) lines were lost.*/\1/p' "$WORK/run.err"; }
told() { [ -n "$(lost)" ]; }
eventually "it is told how many lines are lost" told
end
whole() { [ "$(($(grep -c '^x*$' "$WORK/printed") + $(lost)))" = 20000 ]; }
eventually "every line is written or counted" whole
kill "$READER"
exec 9>&-

nflua_plugins
rule() { inside iptables -w -A INPUT -i lo -p udp "$@" 2>"$WORK/rule.err" || die "$*: $(cat "$WORK/rule.err")"; }

# passes PORT LENGTH: whether a datagram of that many bytes arrives there.
cat >"$WORK/passes.py" <<'PYTHON'
import socket, sys

with socket.socket(type=socket.SOCK_DGRAM) as receiver, socket.socket(type=socket.SOCK_DGRAM) as sender:
    receiver.bind(("127.0.0.1", int(sys.argv[1])))
    receiver.settimeout(1.5)
    sender.sendto(b"x" * int(sys.argv[2]), receiver.getsockname())
    try:
        print("passes" if len(receiver.recv(1 << 16)) == int(sys.argv[2]) else "differs")
    except TimeoutError:
        print("nothing")
PYTHON
passes() { inside python3 "$WORK/passes.py" "$@"; }

# A state that has no memory left decides about no packet: its targets accept, its matches find none.
cat >"$WORK/full.lua" <<'LUA'
for _, bytes in ipairs { 100000, 1000, 10 } do
  while pcall(function() kept = { kept, ("x"):rep(bytes) .. tostring(kept) } end) do end
end
error "the state is full"
LUA
start "$WORK/run.out"
nflua create st 1000000
nflua execute st -e 'function drops(packet) return "drop" end function matches(packet) return true end'
rule --dport 7002 -j LUA --state st --function drops
rule --dport 7001 -m lua --state st --function matches -j DROP
is nothing passes 7001 100
is nothing passes 7002 50000
fails 1 nflua execute st "$WORK/full.lua"
grep -q '^nflua: .*the state is full' "$WORK/run.err" || die "$(cat "$WORK/run.err")"
grep -q '^nflua: .*state st: rules find no packet: .*not enough memory' "$WORK/run.err" || die "$(cat "$WORK/run.err")"
is passes passes 7001 100
is passes passes 7002 50000
grep -q '^nflua: .*not enough memory' "$WORK/run.err" || die "$(cat "$WORK/run.err")"
inside iptables -w -F INPUT
end

# A target has the steps of --budget for a packet: where they are not enough the packet is accepted, as after any error.
cat >"$WORK/long.lua" <<'LUA'
function long(packet) for i = 1, 200000 do local x = i end return "drop" end
LUA
for budget in 100000 100000000; do
    start "$WORK/run.out" --budget "$budget"
    nflua create st
    nflua execute st "$WORK/long.lua"
    rule --dport 7004 -j LUA --state st --function long
    if [ "$budget" = 100000 ]; then
        is passes passes 7004 100
        grep -q '^nflua: .*step budget exhausted' "$WORK/run.err" || die "$(cat "$WORK/run.err")"
    else
        is nothing passes 7004 100
    fi
    inside iptables -w -F INPUT
    end
done

# It is ended under traffic for a target that does not keep up: every packet arrives. The rule is there, and so is the note of its queue.
cat >"$WORK/flood.py" <<'PYTHON'
import socket, threading, time

COUNT = 1500
receiver = socket.socket(type=socket.SOCK_DGRAM)
receiver.bind(("127.0.0.1", 7003))
receiver.settimeout(3)
seen = set()

def receive():
    try:
        while len(seen) < COUNT:
            seen.add(receiver.recv(100))
    except TimeoutError:
        pass

thread = threading.Thread(target=receive)
thread.start()
with socket.socket(type=socket.SOCK_DGRAM) as sender:
    for number in range(COUNT):
        sender.sendto(b"%d" % number, ("127.0.0.1", 7003))
        if number == 300:
            print("sends", flush=True)
        time.sleep(0.001)
thread.join()
print(len(seen), "of", COUNT)
PYTHON
start "$WORK/run.out"
nflua create st 1000000
nflua execute st -e 'function slow(packet) for i = 1, 1000000 do end end'
rule --dport 7003 -j LUA --state st --function slow
inside python3 "$WORK/flood.py" >"$WORK/flood.out" &
FLOOD=$!
PIDS+=("$FLOOD")
eventually "packets are sent" grep -qs sends "$WORK/flood.out"
end
wait "$FLOOD"
grep -q '^1500 of 1500$' "$WORK/flood.out" || die "$(cat "$WORK/flood.out")"
NOTES=$WORK/faults-$$.targets
[ -s "$NOTES/st" ] || die "the queue is not noted"

# The next process has the queue again; when that is stopped, nothing is left of it.
start "$WORK/run.out"
nflua create st 1000000
nflua execute st -e 'function slow(packet) return "drop" end'
is nothing passes 7003 100
inside iptables -w -F INPUT
nflua stop
wait "$RUN" || die "it ended with $?: $(cat "$WORK/run.err")"
[ ! -e "$NOTES" ] || die "a note is left"
