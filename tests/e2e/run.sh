#!/usr/bin/env bash
# `moonhook run` on a veth between two namespaces: native and generic mode, jumbo frames, prints, errors, counters, refusals,
# and that nothing is left behind by Ctrl-C, by SIGTERM, by --duration, by kill -9, or by the end of the interface.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin run
veth_pair

cat >"$WORK/ports.lua" <<'LUA'
local xdp = require "xdp"
local action = require "linux.xdp"

local seen = 0

xdp.attach(function(pkt)
  local udp = pkt.udp
  if not udp then
    return action.PASS
  end
  seen = seen + 1
  if udp.dport == 7001 then
    print("dropped", pkt.ip.src, udp.dport)
    return action.DROP
  elseif udp.dport == 7002 then
    return pkt:getbyte(9000)
  end
  return action.PASS
end)
LUA

cat >"$WORK/marker.lua" <<'LUA'
local xdp = require "xdp"
local action = require "linux.xdp"

xdp.attach(function(pkt)
  local udp = pkt.udp
  if not udp or udp.dport ~= 7004 then
    return
  end
  local marker = pkt:getbyte(5000)
  print(#pkt, marker, pkt.payload:find("needle", 1, true))
  return marker == 0x44 and action.DROP or action.PASS
end)
LUA

# start NAME OPTION…: runs the command on the script $SCRIPT in the background and waits until it is attached.
SCRIPT=ports.lua
start() {
    local name=$1
    shift
    # Bash starts background processes with SIGINT ignored.
    env --default-signal=INT "$MOONHOOK" run right0 "$WORK/$SCRIPT" --netns "$RIGHT" "$@" \
        >"$WORK/$name.out" 2>"$WORK/$name.err" </dev/null &
    RUN=$!
    eventually "moonhook run attaches" grep -qs '^attached' "$WORK/$name.out"
}

# ends SIGNAL CODE: sends the signal and checks the exit code.
ends() {
    local status=0
    [ "$1" = none ] || kill -s "$1" "$RUN"
    wait "$RUN" || status=$?
    RUN=
    [ "$status" = "$2" ] || die "it ended with $status after signal $1, not with $2"
}

has_xdp() {
    ip -n "$RIGHT" link show dev right0 | grep -q "$1"
}

nothing_left() {
    ! has_xdp xdp || die "after $1 a program is still attached"
}

contains() {
    grep -qF -- "$2" "$WORK/$1" || {
        cat "$WORK/$1" >&2
        die "$1 does not contain: $2"
    }
}

send_udp() {
    ip netns exec "$LEFT" bash -c "echo x >/dev/udp/192.0.2.2/$1"
}

# send_jumbo MARKER: one datagram of 8000 bytes: the marker at byte 5000 of the frame, whose headers have 42, and `needle` behind.
send_jumbo() {
    {
        head -c 4958 /dev/zero
        printf %s "$1"
        head -c 2041 /dev/zero
        printf needle
        head -c 994 /dev/zero
    } >"$WORK/datagram"
    ip netns exec "$LEFT" bash -c "dd if=$WORK/datagram bs=8000 count=1 status=none >/dev/udp/192.0.2.2/7004"
}

# Datagrams that reached the right side's UDP, where nobody listens (RFC 4113, udpNoPorts).
arrived() {
    ip netns exec "$RIGHT" awk '$1 == "Udp:" && $2 ~ /^[0-9]/ { print $3 }' /proc/net/snmp
}

echo "native mode, prints, errors, counters, Ctrl-C"
start native --mode native --interval 0.5
contains native.out "to right0 in native mode"
has_xdp ' xdp' && ! has_xdp xdpgeneric || die "the kernel shows no native program"
for port in 7001 7001 7002 7003; do send_udp "$port"; done
eventually "the error is shown" grep -q "out of bounds" "$WORK/native.err"
eventually "a line of counters" grep -Eq '^counters: .*DROP 2,.*errors 1, lost events 0$' "$WORK/native.out"
ends INT 0
nothing_left "Ctrl-C"
[ "$(grep -c "^dropped	192.0.2.1	7001$" "$WORK/native.out")" = 2 ] || die "two lines should have been printed"
contains native.err "ports.lua:16: bad argument #1 to 'getbyte' (out of bounds)"
contains native.err "stack traceback:"
grep -Eq '^final counters: .*DROP 2,.*errors 1, lost events 0$' "$WORK/native.out" || die "no final counters"

echo "generic mode, another verdict after errors, SIGTERM"
start generic --mode generic --on-error drop
has_xdp xdpgeneric || die "the kernel shows no generic program"
send_udp 7002
eventually "the error is shown" grep -q "out of bounds" "$WORK/generic.err"
ends TERM 0
nothing_left "SIGTERM"
grep -Eq '^final counters: .*DROP 1,.*errors 1' "$WORK/generic.out" || die "the error did not drop the frame"

echo "the lines of errors in general code are counted"
start general --form general
for _ in 1 2 3; do send_udp 7002; done
eventually "the errors are shown" eval '[ "$(grep -c "out of bounds" "$WORK/general.err")" = 3 ]'
ends INT 0
grep -Eq "^  3 x .*ports.lua:16: bad argument #1 to 'getbyte' \(out of bounds\)$" "$WORK/general.out" || {
    cat "$WORK/general.out" >&2
    die "the errors are counted without their line"
}

echo "auto mode falls back where the driver cannot"
ip -n "$LEFT" link set left0 mtu 9000
start auto --mode auto --duration 1
contains auto.out "in generic mode (native mode is not to be had:"
ends none 0
nothing_left "--duration"

echo "jumbo frames in native mode"
ip -n "$RIGHT" link set right0 mtu 9000
status=0
"$MOONHOOK" run right0 "$WORK/marker.lua" --netns "$RIGHT" --mode native 2>"$WORK/large.err" >"$WORK/large.out" || status=$?
[ "$status" = 3 ] || die "native mode with a large MTU and no --frags ended with $status"
contains large.err "error[MH0516]"
contains large.err 'help: use `--frags` or `--mode generic`'
nothing_left "a refusal"
SCRIPT=marker.lua start jumbo --mode native --frags
contains jumbo.out "to right0 in native mode"
before=$(arrived)
for marker in D E D F; do send_jumbo "$marker"; done
eventually "every datagram is seen" eval '[ "$(grep -c "^8042	" "$WORK/jumbo.out")" = 4 ]'
eventually "two datagrams arrive" eval '[ "$(arrived)" = "$((before + 2))" ]'
send_udp 7004
eventually "the error is shown" grep -q "out of bounds" "$WORK/jumbo.err"
ends INT 0
nothing_left "Ctrl-C"
[ "$(grep -c "^8042	68	7001	7006$" "$WORK/jumbo.out")" = 2 ] || die "the dropped datagrams were not read as sent"
[ "$(grep -Ec "^8042	(69|70)	7001	7006$" "$WORK/jumbo.out")" = 2 ] || die "the passed datagrams were not read as sent"
grep -Eq '^final counters: .*DROP 2,.*errors 1, lost events 0$' "$WORK/jumbo.out" || die "the counters are not as expected"
ip -n "$LEFT" link set left0 mtu 1500
ip -n "$RIGHT" link set right0 mtu 1500

echo "a hook that is taken, and kill -9"
start first
status=0
"$MOONHOOK" run right0 "$WORK/ports.lua" --netns "$RIGHT" >"$WORK/second.out" 2>"$WORK/second.err" || status=$?
[ "$status" = 3 ] || die "a taken hook ended with $status"
contains second.err "error[MH0514]: the XDP hook of 'right0' is taken"
contains second.err "help: stop process"
kill -KILL "$RUN"
wait "$RUN" || true
RUN=
eventually "the kernel detaches" eval '! has_xdp xdp'

echo "JSON lines"
env --default-signal=INT "$MOONHOOK" run right0 "$WORK/ports.lua" --netns "$RIGHT" --json \
    >"$WORK/json.out" 2>"$WORK/json.err" </dev/null &
RUN=$!
eventually "moonhook run attaches" grep -q '"type":"attached"' "$WORK/json.out"
send_udp 7001
send_udp 7002
eventually "print and error are shown" eval '[ "$(grep -Ec "\"type\":\"(print|error)\"" "$WORK/json.out")" = 2 ]'
ends INT 0
[ ! -s "$WORK/json.err" ] || die "with --json something went to standard error"
jq -es '
    .[0].type == "attached" and .[0].mode == "native"
    and ([.[] | select(.type == "print") | .text] == ["dropped\t192.0.2.1\t7001"])
    and ([.[] | select(.type == "error") | .traceback | length] == [1])
    and (.[-1] | .type == "counters" and .final and .verdicts.DROP == 1 and .errors == 1)
' "$WORK/json.out" >/dev/null || {
    cat "$WORK/json.out" >&2
    die "the JSON lines are not as expected"
}

echo "the interface goes while the program is attached"
start gone
ip -n "$LEFT" link del left0
ends none 3
contains gone.err "error[MH0007]: the interface 'right0' is gone"

echo "everything went as expected"
