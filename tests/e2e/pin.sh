#!/usr/bin/env bash
# `moonhook run --pin`: filtering survives kill -9, the next run takes over with what variables hold, and stop removes all.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin pin
need_bpffs
local_pair

# script WORD: counts the datagrams to port 7001 and prints the count after WORD.
script() {
    cat <<LUA
local count = 0
require("xdp").attach(function(pkt)
  local udp = pkt.udp
  if udp and udp.dport == 7001 then
    count = count + 1
    print("$1", count)
    return 1
  end
end)
LUA
}

# start OUT OPTION…: runs count.lua, pinned, and waits until it is attached.
start() {
    local out=$1
    shift
    env --default-signal=INT "$MOONHOOK" run right0 "$WORK/count.lua" --netns "$NETNS" --pin --bpffs "$BPFFS" "$@" \
        >"$WORK/$out.out" 2>"$WORK/$out.err" </dev/null &
    RUN=$!
    eventually "moonhook run attaches" grep -qs '^attached' "$WORK/$out.out"
    eventually "moonhook run listens" test -e "$WORK/run/count.sock"
}

killed() {
    kill -KILL "$RUN"
    wait "$RUN" 2>/dev/null || true
    RUN=
}

send() {
    ip netns exec "$NETNS" bash -c 'echo x >/dev/udp/192.0.2.2/7001'
}

# The id of the program in the hook.
attached() {
    ip -n "$NETNS" -j link show dev right0 | jq '.[0].xdp.prog.id // empty'
}

contains() {
    grep -q -- "$2" "$WORK/$1" || {
        cat "$WORK/$1" >&2
        die "$1 does not contain: $2"
    }
}

# The kernel sends packets of its own, too.
counted() {
    "$MOONHOOK" list --bpffs "$BPFFS" --json | jq -e ".[0].packets >= $1" >/dev/null
}

echo "filtering survives kill -9"
script one >"$WORK/count.lua"
start first
send
eventually "the print is shown" grep -qx 'one	1' "$WORK/first.out"
killed
before=$(attached)
[ -n "$before" ] || die "the program is gone"
seen=$("$MOONHOOK" list --bpffs "$BPFFS" --json | jq '.[0].packets')
send
send
eventually "packets are counted without a process" counted "$((seen + 2))"
"$MOONHOOK" list --bpffs "$BPFFS" >"$WORK/list.out"
contains list.out "^count  *right0 ($NETNS)  *xdp native, pinned  *-  *-  *[0-9]*  *-  "
# It is found where it is pinned, without being told.
"$MOONHOOK" list >"$WORK/anywhere.out"
contains anywhere.out "^count  *right0 ($NETNS)  *xdp native, pinned  *-  *-  *[0-9]*  *-  "

echo "another folder for the pins of the same name is refused"
fails 3 "$MOONHOOK" run right0 "$WORK/count.lua" --netns "$NETNS" --pin --bpffs "$BPFFS-2"
contains fails.err 'error\[MH0011\]'

echo "a run that does not pin is refused"
status=0
"$MOONHOOK" run right0 "$WORK/count.lua" --netns "$NETNS" --bpffs "$BPFFS" >"$WORK/plain.out" 2>"$WORK/plain.err" || status=$?
[ "$status" = 3 ] || die "it ended with $status"
contains plain.err 'error\[MH0011\]'

status=0
"$MOONHOOK" run left0 "$WORK/count.lua" --netns "$NETNS" --pin --bpffs "$BPFFS" >"$WORK/plain.out" 2>"$WORK/plain.err" || status=$?
[ "$status" = 3 ] || die "another interface ended with $status"
contains plain.err 'error\[MH0520\]'
[ "$(attached)" = "$before" ] || die "the program was disturbed"

echo "the next run takes over, with the count, and never leaves the hook"
script two >"$WORK/count.lua"
start second
contains second.out 'in the place of the one that was pinned'
contains second.out '^  variable count: kept$'
after=$(attached)
[ -n "$after" ] && [ "$after" != "$before" ] || die "the program was not replaced"
send
eventually "the count goes on" grep -qx 'two	4' "$WORK/second.out"

echo "a reload is pinned, too"
sed 's/local count = 0/local first, count = 0, 0/; s/return 1/first = 7 return 1/' "$WORK/count.lua" >"$WORK/other.lua"
"$MOONHOOK" reload count "$WORK/other.lua" >"$WORK/reload.out"
contains reload.out '^  variable count: kept$'
contains reload.out '^  variable first: new$'
send
eventually "the count goes on" grep -qx 'two	5' "$WORK/second.out"
killed
script three >"$WORK/count.lua"
start third
contains third.out '^  variable first: dropped$'
send
eventually "the count goes on" grep -qx 'three	6' "$WORK/third.out"

echo "Ctrl-C leaves it attached, stop does not"
kill -INT "$RUN"
wait "$RUN" || die "it ended with $?"
RUN=
contains third.out 'the program stays attached'
[ -n "$(attached)" ] || die "after Ctrl-C the program is gone"
"$MOONHOOK" stop count
[ -z "$(attached)" ] || die "after stop a program is attached"
[ -z "$(find "$BPFFS" "$WORK/run" -mindepth 1 2>/dev/null)" ] || die "left behind: $(find "$BPFFS" "$WORK/run")"

echo "what a process has left that was killed before it had pinned its link is removed"
mkdir -p "$BPFFS/count"
"$MOONHOOK" stop count --bpffs "$BPFFS"
[ -z "$(find "$BPFFS" -mindepth 1)" ] || die "left behind: $(find "$BPFFS")"
fails 3 "$MOONHOOK" stop count --bpffs "$BPFFS"

# left_over: pins a map as a process does that is killed before its link.
left_over() {
    mkdir -p "$BPFFS/count"
    bpftool map create "$BPFFS/count/map-7" type array key 4 value 4 entries 1 name left_over
}

echo "maps that it had pinned are listed, and removed by stop and by the next run"
left_over
"$MOONHOOK" list --bpffs "$BPFFS" >"$WORK/list.out"
contains list.out '^count .* incomplete  *-  '
"$MOONHOOK" stop count --bpffs "$BPFFS"
[ -z "$(find "$BPFFS" -mindepth 1)" ] || die "left behind: $(find "$BPFFS")"
[ "$("$MOONHOOK" list --bpffs "$BPFFS" --json)" = "[]" ] || die "it is listed still"
left_over
start cleaning
[ ! -e "$BPFFS/count/map-7" ] || die "the map is pinned still"
"$MOONHOOK" stop count --bpffs "$BPFFS"
wait "$RUN" || die "it ended with $?"
RUN=
left_over
env --default-signal=INT "$MOONHOOK" run right0 "$WORK/count.lua" --netns "$NETNS" --bpffs "$BPFFS" >"$WORK/plain.out" 2>&1 </dev/null &
RUN=$!
eventually "moonhook run attaches" grep -qs '^attached' "$WORK/plain.out"
[ -z "$(find "$BPFFS" -mindepth 1)" ] || die "left behind: $(find "$BPFFS")"
kill -INT "$RUN"
wait "$RUN" || die "it ended with $?"
RUN=

echo "where it cannot be noted what is pinned, nothing is attached"
mkdir -p "$WORK/run/count.json"
chmod 700 "$WORK/run"
fails 3 "$MOONHOOK" run right0 "$WORK/count.lua" --netns "$NETNS" --pin --bpffs "$BPFFS"
contains fails.err 'error\[MH0001\]'
[ ! -s "$WORK/fails.out" ] || die "it said: $(cat "$WORK/fails.out")"
[ -z "$(attached)" ] || die "a program is attached"
[ -z "$(find "$BPFFS" -mindepth 1)" ] || die "left behind: $(find "$BPFFS")"
rmdir "$WORK/run/count.json"
start fourth
grep -q 'in native mode (the driver can)' "$WORK/fourth.out" || die "it did not start anew"
send
eventually "the count begins anew" grep -qx 'three	1' "$WORK/fourth.out"

echo "an interface that went and came back"
killed
ip -n "$NETNS" link del left0
connect_locally
start fifth
send
eventually "the program runs again" grep -q '^three' "$WORK/fifth.out"
"$MOONHOOK" stop count --bpffs "$BPFFS"
wait "$RUN" || die "it ended with $?"
RUN=
[ -z "$(attached)" ] || die "after stop a program is attached"
[ -z "$(find "$BPFFS" "$WORK/run" -mindepth 1 2>/dev/null)" ] || die "left behind: $(find "$BPFFS" "$WORK/run")"
echo "everything went as expected"
