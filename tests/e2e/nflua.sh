#!/usr/bin/env bash
# Scripts of NFLua in a router, over IPv4 and IPv6: a match answers a segment in the place of the server, and counts for the state's other functions; a target sees the
# link's header, steals packets and sends them on later, with another payload; connections tell their traffic. When the process has been killed everything passes.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin nflua
have python3 || skip "python3 is not installed"
have ip6tables || skip "ip6tables is not installed"
need_bpffs
export MOONHOOK_NFLUA=$WORK/states-$$.socket
hosts_and_router
ip netns exec "$MIDDLE" sysctl -q net.netfilter.nf_conntrack_acct=1 2>/dev/null || true

# As `ip netns exec`, which hides pins.
inside() { nsenter --net="/run/netns/$MIDDLE" "$@"; }
nflua() { inside "$MOONHOOK" nflua "$@"; }
nflua_plugins

# Servers that say what they have got, of both families, TCP at three ports.
serve_got 7001,7002,7003 ""

# ask PORT: what comes back over IPv4 and IPv6, or `nothing`, within three seconds.
cat >"$WORK/ask.py" <<'PYTHON'
import socket, sys

def ask(address, port):
    with socket.create_connection((address, port), timeout=3) as one:
        one.sendall(b"hello")
        try:
            return one.recv(1000).decode()
        except TimeoutError:
            return "nothing"

print("|".join(ask(address, int(sys.argv[1])) for address in ("192.0.3.1", "2001:db8:3::1")))
PYTHON
ask() { ip netns exec "$LEFT" python3 "$WORK/ask.py" "$1"; }

start() {
    # The shell opens the file only some time after it has gone on.
    rm -f "$WORK/run.out"
    nsenter --net="/run/netns/$MIDDLE" "$MOONHOOK" nflua run >"$WORK/run.out" 2>"$WORK/run.err" </dev/null &
    RUN=$!
    eventually "the process listens" grep -qs '^listening' "$WORK/run.out"
}
both() {
    local command
    for command in iptables ip6tables; do inside "$command" -w "$@" 2>"$WORK/rule.err" || die "$command $*: $(cat "$WORK/rule.err")"; done
}

start
cat >"$WORK/st.lua" <<'LUA'
-- Where the payload of a segment begins.
local function payload(packet)
  local is_4 = packet:unpack("B") >> 4 == 4
  local at = is_4 and (packet:unpack("B") & 15) * 4 or 40
  return at + (packet:unpack("B", at + 13) >> 4) * 4
end

asked = 0
function answers(packet)
  asked = asked + 1
  return packet:tcpreply("the router says no\n") == true
end

function replaces(packet)
  if #packet == payload(packet) then return end
  local frame = packet:frame()
  local is_4 = packet:unpack("B") >> 4 == 4
  local port = packet:unpack(">I2", is_4 and 21 or 41)
  local from, to = is_4 and "192.0.2.1" or "2001:db8:2::1", is_4 and "192.0.3.1" or "2001:db8:3::1"
  timer.create(20, function()
    local packets, bytes = conn.traffic(is_4 and 4 or 6, "tcp", from, port, to, 7002, "original")
    print("traffic", packets and packets >= 2 and bytes > 80 or bytes)
    print("traffic", select(2, conn.traffic(is_4 and 4 or 6, "tcp", from, port, to, 9, "both")))
    print(#frame, memory.unpack(frame, ">I2", 13), pcall(packet.send, packet, "HELLO"))
    print(pcall(packet.close, packet))
  end)
  return "stolen"
end

function refuses(packet)
  if #packet > payload(packet) then return "drop" end
end
LUA
nflua create st 1000000
nflua execute st "$WORK/st.lua"
# The kernel follows connections where a rule asks about them.
both -A FORWARD -m conntrack --ctstate INVALID
both -A FORWARD -i port1 -p tcp --dport 7001 -m lua --state st --function answers --tcp-payload -j DROP
both -A FORWARD -i port1 -p tcp --dport 7002 -j LUA --state st --function replaces
both -A FORWARD -i port1 -p tcp --dport 7003 -j LUA --state st --function refuses

[[ "$(ask 7001)" = "the router says no"*"|the router says no"* ]] || die "$(ask 7001; cat "$WORK"/run.*)"
is "got HELLO|got HELLO" ask 7002
is "nothing|nothing" ask 7003
grep -q $'^traffic\ttrue$' "$WORK/run.out" || die "$(cat "$WORK/run.out")"
grep -q $'^traffic\tconnid entry not found$' "$WORK/run.out" || die "$(cat "$WORK/run.out")"
printed=$(grep -c $'^14\t2048\ttrue\ttrue$' "$WORK/run.out") || true
[ "$printed" -ge 1 ] || die "$(cat "$WORK/run.out")"
grep -q "calling 'close' on bad self (closed packet)" "$WORK/run.out" || die "$(cat "$WORK/run.out")"

# What packets have counted is there for messages from outside, and for what is executed.
nflua receive 77 --count 1 >"$WORK/received" &
RECEIVER=$!
tell() { nflua execute st -e 'netlink.send(77, nil, tostring(asked > 1))' 2>"$WORK/told"; }
eventually "the state sends to a port" tell
wait "$RECEIVER"
is true cat "$WORK/received"
inside "$MOONHOOK" nflua execute st -e 'function __receive_callback(port, text) print("received", text, asked > 1) end'
printf 'some text' | nflua send st
eventually "bytes arrive" grep -qs $'^received\tsome text\ttrue$' "$WORK/run.out"

# What is executed is what rules ask from then on, and the counter goes on.
nflua execute st -e 'function answers(packet) asked = asked + 1 print("asked", asked > 3) return false end'
is "got hello|got hello" ask 7001
eventually "the counter goes on" grep -qs $'^asked\ttrue$' "$WORK/run.out"

fails 3 nflua destroy st
fails 1 nflua execute st -e 'function ('
grep -q MH1214 "$WORK/fails.err" || die "$(cat "$WORK/fails.err")"

# Killed, it leaves rules that find nothing, and a queue that nobody has: everything passes. The rules ask the next one.
kill -KILL "$RUN"
{ wait "$RUN" || true; } 2>"$WORK/killed"
is "got hello|got hello" ask 7001
is "got hello|got hello" ask 7002
start
nflua create st 1000000
nflua execute st -e 'function answers(packet) return true end function replaces(packet) print("decides") end'
is "nothing|nothing" ask 7001
is "got hello|got hello" ask 7002
eventually "the target is asked" grep -qs '^decides$' "$WORK/run.out"
grep -q 'rules are there that ask answers' "$WORK/run.err" || die "$(cat "$WORK/run.err")"

# Ended while rules have its programs, it leaves their files, for iptables-legacy loads all rules anew; the next process removes what no rule has.
files() { find "/sys/fs/bpf/moonhook/nflua-states-$$_socket" -type f 2>/dev/null | wc -l; }
end() {
    kill -TERM "$RUN"
    wait "$RUN" || die "it ended with $?: $(cat "$WORK/run.err")"
    [ ! -e "$(sed 's/^listening at //' "$WORK/run.out")" ] || die "the socket is left"
}
end
is 1 files
is "got hello|got hello" ask 7001
both -A FORWARD -p udp --dport 9 -j DROP
start
is 1 files
both -F FORWARD
end
start
is 0 files
nflua stop
# Another process can have the states at once, each time.
for ((again = 0; again < 5; again++)); do
  before=$RUN
  start
  wait "$before" || die "it ended with $?"
  nflua stop
done
wait "$RUN" || die "it ended with $?: $(cat "$WORK/run.err")"
