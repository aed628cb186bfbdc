#!/usr/bin/env bash
# What goes wrong with NFLua's states stops no other: nobody reads what one prints.
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

# What it prints goes to the file $1, the rest to run.err.
start() {
    nsenter --net="/run/netns/$INSIDE" "$MOONHOOK" nflua run >"$1" 2>"$WORK/run.err" </dev/null &
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
