#!/usr/bin/env bash
# What scripts for processes have to do at their very end (`__gc`): they send and print when they are stopped, in their own state and in those that they have begun;
# one that goes on holds nobody up, and is the limit's error where load time is all there is.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin lunatik_finalizers
have python3 || skip "python3 is not installed"
namespace NETNS one
need_bpffs
ip -n "$NETNS" link set lo up

mkdir "$WORK/root"
cat >"$WORK/root/last.lua" <<'LUA'
local inet = require "socket.inet"
local socket = inet.udp()
object = setmetatable({}, { __gc = function()
  socket:sendto("bye", inet.localhost, 7000)
  print "has sent"
end })
LUA
cat >"$WORK/root/both.lua" <<'LUA'
require "last"
runtime = require("lunatik").runtime("last")
LUA
cat >"$WORK/root/endless.lua" <<'LUA'
runtime = require("lunatik").runtime("endless_state")
object = setmetatable({}, { __gc = function() while true do pcall(error) end end })
LUA
cat >"$WORK/root/endless_state.lua" <<'LUA'
object = setmetatable({}, { __gc = function() while true do end end })
LUA

ip netns exec "$NETNS" python3 -uc '
import socket
with socket.socket(type=socket.SOCK_DGRAM) as one:
    one.bind(("127.0.0.1", 7000))
    print("listening")
    while True: print(one.recv(100).decode())' >"$WORK/server.out" 2>"$WORK/server.err" &
PIDS+=($!)
eventually "the server listens" grep -qs listening "$WORK/server.out"

# running SCRIPT: it runs for processes, as RUN.
running() {
    rm -f "$WORK/run.out"
    ip netns exec "$NETNS" "$MOONHOOK" run "$WORK/root/$1.lua" --root "$WORK/root" --control --name it >"$WORK/run.out" 2>"$WORK/run.err" &
    RUN=$!
    eventually "it runs" grep -qs '^running ' "$WORK/run.out"
}

running both
finish
[ "$(grep -cx 'has sent' "$WORK/run.out")" = 2 ] || die "$(cat "$WORK/run.out" "$WORK/run.err")"
twice() { [ "$(grep -cx bye "$WORK/server.out")" = "$1" ]; }
eventually "both have sent" twice 2
ip netns exec "$NETNS" "$MOONHOOK" check "$WORK/root/both.lua" --root "$WORK/root" --control >"$WORK/check.out" 2>&1 || die "$(cat "$WORK/check.out")"
[ "$(grep -cx 'has sent' "$WORK/check.out")" = 2 ] || die "$(cat "$WORK/check.out")"
eventually "both have sent again" twice 4

running endless
kill -TERM "$RUN"
timeout 20 tail --pid="$RUN" -f /dev/null || die "it does not end"
wait "$RUN" || die "moonhook run ended with $?: $(cat "$WORK/run.err")"
RUN=''
fails 1 timeout 60 "$MOONHOOK" check "$WORK/root/endless.lua" --root "$WORK/root" --control --load-steps 1000000
grep -q MH0105 "$WORK/fails.err" || die "$(cat "$WORK/fails.err")"
