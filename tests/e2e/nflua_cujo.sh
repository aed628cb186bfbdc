#!/usr/bin/env bash
# Scripts of NFLua's second generation in a router, over IPv4 and IPv6: functions get the frame and the packet as objects with layouts, in matches, which the kernel asks, and in
# targets. They answer segments and datagrams, send copies of packets with another payload, write to packets, drop hot, and have rules match while a bit is set.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin nflua-cujo
have python3 || skip "python3 is not installed"
have ip6tables || skip "ip6tables is not installed"
need_bpffs
export MOONHOOK_NFLUA=$WORK/cujo-$$.socket
hosts_and_router
ip netns exec "$MIDDLE" sysctl -q net.netfilter.nf_conntrack_acct=1 2>/dev/null || true

# As `ip netns exec`, which hides pins.
inside() { nsenter --net="/run/netns/$MIDDLE" "$@"; }
nflua() { inside "$MOONHOOK" nflua "$@"; }
nflua_plugins --generation cujo

# Servers that say what they have got, of both families: TCP at some ports, UDP at others.
serve_got 7001,7002 7003,7004,7005,7006,7007,7008,7009,7010,7011

# ask PORT: what comes back over IPv4 and IPv6, or `nothing`, within a second and a half.
cat >"$WORK/ask.py" <<'PYTHON'
import socket, sys

port = int(sys.argv[1])

def ask(family, address):
    with socket.socket(family, socket.SOCK_STREAM if port < 7003 else socket.SOCK_DGRAM) as one:
        one.settimeout(1.5)
        one.connect((address, port))
        one.send(b"hello123")
        try:
            return one.recv(1000).decode()
        except TimeoutError:
            return "nothing"

print("|".join(ask(*end) for end in ((socket.AF_INET, "192.0.3.1"), (socket.AF_INET6, "2001:db8:3::1"))))
PYTHON
ask() { ip netns exec "$LEFT" python3 "$WORK/ask.py" "$1"; }

nsenter --net="/run/netns/$MIDDLE" "$MOONHOOK" nflua run >"$WORK/run.out" 2>"$WORK/run.err" </dev/null &
RUN=$!
eventually "the process listens" grep -qs '^listening' "$WORK/run.out"
both() {
    local command
    for command in iptables ip6tables; do inside "$command" -w "$@" 2>"$WORK/rule.err" || die "$command $*: $(cat "$WORK/rule.err")"; done
}

cat >"$WORK/st.lua" <<'LUA'
local ethernet = data.layout{ type = { 96, 16 }, to = { 0, 6, "string" } }
local ip = data.layout{ version = { 0, 4 }, length = { 4, 4 }, of_4 = { 72, 8 } }
local ports = data.layout{ from = { 0, 16 }, to = { 16, 16 } }

-- What is behind the IP header.
local function inside(packet)
  packet:layout(ip)
  return packet:segment(packet.version == 4 and packet.length * 4 or 40)
end

function answers(frame, packet)
  nf.reply("tcp", "the router says no\n")
  return true
end

function replaces(frame, packet)
  local segment = inside(packet):layout{ words = { 96, 4 }, to = { 16, 16 } }
  if #segment == segment.words * 4 then return "accept" end
  print("frame", #frame, frame:layout(ethernet).type == (packet.version == 4 and 0x800 or 0x86dd), segment.to)
  local copy = nf.getpacket()
  print("same", copy == nf.getpacket())
  timer.create(20, function()
    copy:send("HELLO", 6)
    print(pcall(copy.send, copy))
    print(pcall(nf.getpacket))
  end)
  return "stolen"
end

function pings(frame, packet)
  nf.reply("udp", "pong")
  return true
end

-- The kernel's matches see the link's header: the address of the router's own interface.
mac = {}
function framed(frame, packet)
  frame:layout(ethernet)
  return #frame == 14 and frame.to == mac.of_port1 and frame.type == (packet:layout(ip).version == 4 and 0x800 or 0x86dd)
end

-- Two words of 16 bits change places: the checksum stays right.
function writes(frame, packet)
  local datagram = inside(packet):layout{ one = { 8, 2, "string" }, other = { 10, 2, "string" } }
  datagram.one, datagram.other = datagram.other, datagram.one
end

function drops_hot(frame, packet)
  nf.hotdrop(true)
  return "accept"
end

function matches_hot(frame, packet)
  nf.hotdrop(string.match(tostring(packet), "hello") ~= nil)
  return false
end

function forgets(frame, packet)
  local is_4 = packet:layout(ip).version == 4
  local from = inside(packet):layout(ports).from
  local function traffic()
    return nf.traffic(is_4 and 4 or 6, "udp", is_4 and "192.0.2.1" or "2001:db8:2::1", from, is_4 and "192.0.3.1" or "2001:db8:3::1", 7009, "both")
  end
  if nf.connid() == told then
    local packets, bytes, others = traffic()
    nf.delete_conntrack()
    print("traffic", packets, bytes > 40, others, traffic())
  end
  told = nf.connid()
end

function tells(frame, packet)
  local seconds, milliseconds = nf.time()
  nf.netlink("told " .. packet:layout(ip).version .. tostring(seconds > 1700000000 and milliseconds < 1000), 77)
  return false
end
LUA
nflua create nflua 1000000
nflua execute nflua "$WORK/st.lua"
# The kernel follows connections where a rule asks about them.
both -A FORWARD -m conntrack --ctstate INVALID
to() { both -A FORWARD -i port1 -p "$1" --dport "$2" "${@:3}"; }
to tcp 7001 -m lua --function answers --tcp-payload -j DROP
to tcp 7002 -j LUA --function replaces
to udp 7003 -m lua --function pings -j DROP
to udp 7004 -m lua --function framed -j DROP
to udp 7005 -j LUA --function writes
to udp 7006 -j LUA --function drops_hot
to udp 7007 -m lua --function matches_hot -j DROP
to udp 7008 -m lua --mask 0x108 -j DROP
to udp 7009 -j LUA --function forgets
to udp 7011 -m lua --function tells -j DROP

forgotten() { [ "$(grep -c $'^traffic\t2\ttrue\t1\tnil\tconnid entry not found$' "$WORK/run.out")" = "$1" ]; }

# What matches and targets do, at the same time: each waits for what does not come.
declare -A EXPECTED=(
    [7001]=$'the router says no\n|the router says no' [7002]="got HELLO|got HELLO" [7003]="pong|pong" [7004]="got hello123|got hello123"
    [7005]="got llheo123|got llheo123" [7006]="nothing|nothing" [7007]="nothing|nothing" [7008]="got hello123|got hello123"
    [7009]="got hello123|got hello123"
)
ASKED=()
for port in "${!EXPECTED[@]}"; do
    ask "$port" >"$WORK/asked.$port" 2>&1 &
    ASKED+=($!)
done
wait "${ASKED[@]}" || true
for port in "${!EXPECTED[@]}"; do
    [ "$(cat "$WORK/asked.$port")" = "${EXPECTED[$port]}" ] || die "port $port: $(cat "$WORK/asked.$port" "$WORK"/run.*)"
done
said() { grep -qs "$1" "$WORK/run.$2" || die "not said: $1, but: $(cat "$WORK"/run.*)"; }
said $'^frame\t14\ttrue\t7002$' out
said $'^same\ttrue$' out
said $'^false\tclosed packet$' out
said $'^false\tcouldn.t get packet context$' out

# What a state does is there for what rules ask: bits of masks, set by a timer, and a table.
mac=$(ip -n "$MIDDLE" -br link show port1 | awk '{ gsub(":", "", $3); print $3 }')
nflua execute nflua -e "mac.of_port1 = (string.gsub('$mac', '..', function(pair) return string.char(tonumber(pair, 16)) end))"
nflua execute nflua -e 'timer.create(1, function() nf.set_match_bit(8, true) print("mask", nf.get_match_mask()) end)'
eventually "the bit is set" grep -qs $'^mask\t256$' "$WORK/run.out"
nflua receive 77 --count 2 >"$WORK/received" &
RECEIVER=$!
PIDS+=("$RECEIVER")
tell() { nflua execute nflua -e 'nf.netlink("x", 77)' 2>"$WORK/told"; }
eventually "the state sends to a port" tell
EXPECTED=([7004]="nothing|nothing" [7008]="nothing|nothing" [7009]="got hello123|got hello123" [7011]="got hello123|got hello123")
ASKED=()
for port in "${!EXPECTED[@]}"; do
    ask "$port" >"$WORK/asked.$port" 2>&1 &
    ASKED+=($!)
done
wait "${ASKED[@]}"
for port in "${!EXPECTED[@]}"; do
    is "${EXPECTED[$port]}" cat "$WORK/asked.$port"
done
wait "$RECEIVER"
is "x told 4true " tr -s '\n' ' ' <"$WORK/received"
nflua execute nflua -e 'nf.reset_match_mask()'
is "got hello123|got hello123" ask 7008

# A connection that is forgotten has no counters.
cat >"$WORK/twice.py" <<'PYTHON'
import socket

for family, address in ((socket.AF_INET, "192.0.3.1"), (socket.AF_INET6, "2001:db8:3::1")):
    with socket.socket(family, socket.SOCK_DGRAM) as one:
        one.settimeout(3)
        one.connect((address, 7009))
        for _ in range(2):
            one.send(b"x")
            one.recv(100)
PYTHON
ip netns exec "$LEFT" python3 "$WORK/twice.py"
eventually "two connections are forgotten" forgotten 2

# Rules are listed and saved as they were added; what cannot be asked is said.
inside iptables-save >"$WORK/saved"
grep -q -- '--dport 7001 -m lua --function answers --tcp-payload -j DROP' "$WORK/saved" || die "$(cat "$WORK/saved")"
grep -q -- '--dport 7008 -m lua --mask 0x108 -j DROP' "$WORK/saved" || die "$(cat "$WORK/saved")"
both -F FORWARD
nflua destroy nflua
nflua create nflua 1000000
nflua execute nflua -e 'dumps = string.dump'
fails 1 inside iptables -w -A FORWARD -m lua --function dumps -j DROP
grep -q 'the rule asks for a function of the library' "$WORK/fails.err" || die "$(cat "$WORK/fails.err")"
to udp 7010 -m lua --function fails -j DROP
to udp 7010 -m lua --function nowhere -j DROP
cat >"$WORK/fails.lua" <<'LUA'
function fails(frame, packet)
  print("as a string", pcall(string.match, packet, "x"))
  timer.create(1, print)
  return true
end
LUA
nflua execute nflua "$WORK/fails.lua"
nflua execute nflua -e 'memory_taken, spent = nf.get_cpu_mem_info() print("info", memory_taken > 100000, spent > 0)'
said $'^info\ttrue\ttrue$' out
is "got hello123|got hello123" ask 7010
said "couldn't find function: nowhere" err
said $'^as a string\tfalse\tbad argument #1 to .string.match. (string expected, got table)$' out
said 'matches cannot create timers: a target can' err
both -F FORWARD
nflua stop
wait "$RUN" || die "it ended with $?: $(cat "$WORK/run.err")"
