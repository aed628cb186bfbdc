#!/usr/bin/env bash
# Variables that handlers assign are those of control code too: `moonhook exec` and timers read what packets left in globals,
# upvalues and fields, and what they assign reaches the handlers. Entries whose time is over leave their table.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin variables
veth_pair

# send PORT: one datagram of 4 bytes.
send() {
    ip netns exec "$LEFT" bash -c "printf ping >/dev/udp/192.0.2.2/$1"
}

# is CODE VALUE: the code has that value in the running script.
is() {
    local shown
    shown=$("$MOONHOOK" exec count -e "$1") || return 1
    [ "$shown" = "$2" ]
}

run() {
    "$MOONHOOK" exec count -e "$1" || die "exec: $1"
}

cat >"$WORK/count.lua" <<'LUA'
local xdp = require "xdp"
local action = require "linux.xdp"

seen = 0                                  -- a global,
local dropped, last = 0, nil              -- upvalues,
local limits = {burst = 3, open = true}   -- and fields

xdp.attach(function(pkt)
  local udp = pkt.udp
  if not udp or udp.dport ~= 7000 then return action.PASS end
  seen = seen + 1
  last = udp.sport
  if seen > limits.burst then
    limits.open = false
    limits.burst = limits.burst + 0
    dropped = dropped + 1
    return action.DROP
  end
  return action.PASS
end)

timer.every(0.05, function()
  if dropped == 2 then
    print("dropped two", seen, limits.open)
    dropped = 100
  end
end)
LUA
cat >"$WORK/other.lua" <<'LUA'
local xdp = require "xdp"
local recent = map{key = "int", value = "int", ttl = 0.2, capacity = 4}
ports = 0
limit = 5
xdp.attach(function(pkt)
  local udp = pkt.udp
  if not udp then return end
  ports = udp.dport
  if udp.dport > 8000 then recent[udp.dport] = 1 end
end)
LUA

env --default-signal=INT,HUP "$MOONHOOK" run right0 "$WORK/count.lua" "$WORK/other.lua" --name count --netns "$RIGHT" \
    --mode native >"$WORK/count.out" 2>"$WORK/count.err" </dev/null &
RUN=$!
eventually "the scripts attach" grep -qs '^attached' "$WORK/count.out"

echo "control code sees what handlers assign"
is seen 0 || die "seen is not 0 at first"
for _ in 1 2 3; do send 7000; done
eventually "the count is seen" is seen 3
is 'dropped, limits ~= nil, ports' "$(printf '0\tfalse\t7000')" || die "$("$MOONHOOK" exec count -e 'dropped, limits ~= nil, ports')"
eventually "the port is seen" is 'math.type(last)' integer

echo "handlers see what control code assigns"
send 7000
eventually "the fourth is dropped" is dropped 1
run 'seen = 0'
send 7000
eventually "counting goes on from there" is seen 1
is dropped 1 || die "the packet after the reset was dropped"
run 'seen = 50'
send 7000
eventually "the timer sees the upvalue" grep -qFx "dropped two	51	false" "$WORK/count.out"
eventually "the timer assigns it" is dropped 100
send 7000
eventually "the handler has what the timer assigned" is dropped 101

echo "what handlers cannot have is refused"
if "$MOONHOOK" exec count -e 'seen = "many"' 2>"$WORK/log"; then die "a string was taken"; fi
grep -qF "variable 'seen' of the handlers is an integer: it cannot be the string 'many'" "$WORK/log" || die "$(cat "$WORK/log")"
is seen 52 || die "seen is not what it was"

echo "globals are those of the first script that has them"
is limit 5 || die "the second script's global is not seen"
run 'limit = 6; ports = 9; fresh = 1'
is 'limit, ports, fresh' "$(printf '6\t9\t1')" || die "the second script's globals are not assigned"

echo "a reload keeps them"
"$MOONHOOK" reload count >"$WORK/log"
is 'seen, dropped, ports' "$(printf '52\t101\t9')" || die "$(cat "$WORK/log")"
send 7000
eventually "counting goes on" is seen 53

echo "expired entries leave the table"
for port in 8001 8002 8003 8004; do send "$port"; done
eventually "they expire" is 'next(recent) == nil' true
sleep 0.5
for port in 8005 8006 8007 8008; do send "$port"; done
eventually "there is room for others" is 'ports' 8008
"$MOONHOOK" exec count -e 'recent[8005], recent[8008]' | grep -q 1 || die "the new entries are not there"
! grep -q 'is full' "$WORK/count.err" "$WORK/count.out" || die "the table was full"

kill -INT "$RUN"
wait "$RUN" || die "the scripts ended with $?"
RUN=
echo "everything went as expected"
