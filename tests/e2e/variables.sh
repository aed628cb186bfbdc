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
kept = 0
limit = 5
xdp.attach(function(pkt)
  local udp = pkt.udp
  if not udp then return end
  ports = udp.dport
  if udp.dport > 8000 then
    recent[udp.dport] = 1
    kept = kept + recent[udp.dport]
  end
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
is 'dropped, limits.burst, ports' "$(printf '0\t3\t7000')" || die "$("$MOONHOOK" exec count -e 'dropped, limits.burst, ports')"
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

echo "also if handlers read then what they only counted before, and the other way round"
cp "$WORK/count.lua" "$WORK/counting.lua"
sed -i 's/^  last = udp.sport$/&\n  if dropped == 12345 then return action.PASS end/' "$WORK/count.lua"
! cmp -s "$WORK/count.lua" "$WORK/counting.lua" || die "the script is as it was"
"$MOONHOOK" reload count >"$WORK/log"
is 'seen, dropped, ports' "$(printf '53\t102\t9')" || die "$(cat "$WORK/log")"
send 7000
eventually "counting goes on with the reader" is 'seen, dropped' "$(printf '54\t103')"
cp "$WORK/counting.lua" "$WORK/count.lua"
"$MOONHOOK" reload count >"$WORK/log"
is 'seen, dropped' "$(printf '54\t103')" || die "$(cat "$WORK/log")"
send 7000
eventually "counting goes on without it" is 'seen, dropped' "$(printf '55\t104')"

echo "expired entries leave the table"
for port in 8001 8002 8003 8004; do send "$port"; done
eventually "they expire" is 'next(recent) == nil' true
# Who looks at the map itself sees expired entries, too; it is the only one with four places.
recent=$(cat /proc/"$RUN"/fdinfo/* 2>/dev/null | awk '/^max_entries:/ { four = $2 == 4 } /^map_id:/ && four { print $2; exit }')
[ -n "$recent" ] || die "the table's map is not found"
removed() {
    [ "$(bpftool -j map dump id "$recent" | jq length)" = 0 ]
}
eventually "they are removed" removed
for port in 8005 8006 8007 8008; do send "$port"; done
eventually "there is room for others" is 'ports' 8008
# A slow machine may look when they have expired, too: the handler has seen each of them.
is kept 8 || die "the new entries were not there"
! grep -q 'is full' "$WORK/count.err" "$WORK/count.out" || die "the table was full"

kill -INT "$RUN"
wait "$RUN" || die "the scripts ended with $?"
RUN=

cat >"$WORK/general.lua" <<'LUA'
local xdp = require "xdp"
local action = require "linux.xdp"

seen = 0                                     -- a global,
local dropped, last, mode, burst = 0, nil, "open", 3   -- upvalues,
local limits = {}                            -- and fields
local function counter()
  local n = 0
  return function(by) n = n + by return n end
end
local here, there = counter(), counter()
local modes = {open = true, shut = false}
local on_drop = nil
local blocked = map{key = "int", value = "boolean", capacity = 16}

xdp.attach(function(pkt)
  local udp = pkt.udp
  if not udp or udp.dport ~= 7000 or blocked[udp.dport] then return action.PASS end
  seen = seen + 1
  last = udp.sport
  here(1)
  there(2)
  limits.met = (limits.met or 0) + 1
  burst = burst + 0
  if on_drop == nil then on_drop = false end
  if udp.length == 1000 then on_drop = modes end
  local ok, message = pcall(function() assert(modes[mode], "shut") end)
  if not ok or seen > burst then
    mode = ok and mode or "shut"
    dropped = dropped + 1
    return action.DROP
  end
  return action.PASS
end)

timer.every(0.05, function()
  if dropped == 2 then
    print("dropped two", seen, mode, here(0), there(0), limits.met)
    dropped = 100
  end
end)
LUA
run_general() {
    env --default-signal=INT,HUP "$MOONHOOK" run right0 "$WORK/general.lua" --name count --netns "$RIGHT" \
        --mode native --form general >"$WORK/general.out" 2>"$WORK/general.err" </dev/null &
    RUN=$!
    eventually "the script of general code attaches" grep -qs '^attached' "$WORK/general.out"
}
run_general

echo "general code: control code sees what handlers assign"
is 'seen, last, mode, on_drop' "$(printf '0\tnil\topen\tnil')" || die "$("$MOONHOOK" exec count -e 'seen, last, mode, on_drop')"
for _ in 1 2 3; do send 7000; done
eventually "the count is seen" is seen 3
is 'math.type(last), mode, on_drop' "$(printf 'integer\topen\tfalse')" || die "$("$MOONHOOK" exec count -e 'last, mode, on_drop')"

echo "general code: handlers see what control code assigns"
send 7000
eventually "the fourth is dropped" is dropped 1
run 'seen = 0; burst = 50'
send 7000
eventually "counting goes on from there" is seen 1
is dropped 1 || die "the packet after the reset was dropped"
run 'mode = "shut"'
send 7000
eventually "the timer sees the upvalues" grep -qFx "dropped two	2	shut	6	12	6" "$WORK/general.out"
eventually "the timer assigns one" is dropped 100
run 'mode = "open"'
run 'last = "shut"'
is last shut || die "a string does not stay"
run 'last = true'
is last true || die "a boolean does not stay"

echo "general code: what handlers cannot have is refused"
refused() {
    if "$MOONHOOK" exec count -e "$1" 2>"$WORK/log"; then die "$1 was taken"; fi
    grep -qF "variable '$2" "$WORK/log" || die "$(cat "$WORK/log")"
}
refused 'mode = "no such text"' "mode' of the handlers is nil or a boolean or an integer or a string of the script or a table or function of load time: it cannot be the string 'no such text'"
refused 'mode = {}' "mode' of the handlers is nil or a boolean or an integer or a string of the script or a table or function of load time: it cannot be a table value"
is 'seen, mode' "$(printf '2\topen')" || die "the variables are not what they were"

echo "general code: a reload keeps them"
run 'mode = "shut"'
sed -i 's/^local modes/local more = "another string"; local modes/' "$WORK/general.lua"
"$MOONHOOK" reload count >"$WORK/log"
is 'seen, dropped, mode, burst, last' "$(printf '2\t100\tshut\t50\ttrue')" || die "$(cat "$WORK/log")"
grep -q 'kept' "$WORK/log" || die "$(cat "$WORK/log")"
send 7000
eventually "counting goes on" is 'seen, dropped' "$(printf '3\t101')"

echo "general code: a list that is replaced leaves them alone"
printf '7001\n7002\n' >"$WORK/ports.txt"
"$MOONHOOK" table count blocked load "$WORK/ports.txt" >"$WORK/log"
is 'seen, dropped, blocked[7002]' "$(printf '3\t101\ttrue')" || die "$(cat "$WORK/log")"
run 'mode = "open"'
send 7000
eventually "counting goes on with the list" is 'seen, dropped, mode' "$(printf '4\t101\topen')"

echo "general code: a reload says what it cannot keep"
run 'mode = "shut"'
sed -i 's/shut/closed/g' "$WORK/general.lua"
"$MOONHOOK" reload count >"$WORK/log"
grep -qF "mode: reset (it was the string 'shut', which the script does not have, it is what the script gives it)" "$WORK/log" ||
    die "$(cat "$WORK/log")"
is 'seen, mode' "$(printf '4\topen')" || die "the variable has another value than the script gives it"

kill -INT "$RUN"
wait "$RUN" || die "the scripts ended with $?"
RUN=
echo "local tables whose fields handlers count are found by their names, and lists of such tables"
cat >"$WORK/count.lua" <<'LUA'
local stats, rules = {opened = 0, last = nil}, { {hits = 0, port = 7001}, {hits = 0, port = 7002} }
require("xdp").attach(function(pkt)
  local udp = pkt.udp
  if not udp then return end
  stats.opened = stats.opened + 1
  stats.last = udp.dport
  for _, rule in ipairs(rules) do
    if rule.port == udp.dport then rule.hits = rule.hits + 1 end
  end
end)
LUA
for form in expanded general; do
    attach right0 "$WORK/count.lua" --netns "$RIGHT" --form "$form"
    send 7001
    send 7002
    send 7002
    eventually "they are counted" is 'stats.opened, stats.last, rules[1].hits, #rules, rules[2].hits' $'3\t7002\t1\t2\t2'
    run 'stats.opened = 10; rules[1].hits = 20'
    send 7001
    eventually "the handler goes on from there" is 'stats.opened, rules[1].hits' $'11\t21'
    if "$MOONHOOK" exec count -e 'nowhere.x' >"$WORK/log" 2>"$WORK/exec.err"; then die "there is no such variable"; fi
    grep -q 'local variables that some function of the script uses' "$WORK/exec.err" || die "$(cat "$WORK/exec.err")"
    detach
done
echo "what was nil before a reload is added to from 0 on behind it"
cat >"$WORK/count.lua" <<'LUA'
local n = 5
require("xdp").attach(function(pkt)
  local udp = pkt.udp
  if not udp then return end
  if udp.dport == 7001 then n = nil end
  if udp.dport == 7002 then n = 7 end
end)
LUA
for form in expanded general; do
    sed -i '/^local more/d' "$WORK/count.lua"
    attach right0 "$WORK/count.lua" --netns "$RIGHT" --form "$form"
    send 7002
    eventually "it is assigned" is n 7
    send 7001
    eventually "it is nil" is n nil
    sed -i -e '1i local more = 1' -e 's/^  if udp.dport == 7001 .*/  if udp.dport == 7003 then n = nil end n = (n or 0) + 1 more = more + n/' "$WORK/count.lua"
    "$MOONHOOK" reload count >"$WORK/log"
    send 7000
    eventually "the first sum is 1" is n 1
    detach
    sed -i 's/^  if udp.dport == 7003 .*/  if udp.dport == 7001 then n = nil end/' "$WORK/count.lua"
done
echo "tables and functions of load time are the same ones on both sides"
cat >"$WORK/count.lua" <<'LUA'
local rules = { {name = "first", hits = 0}, {name = "second", hits = 0} }
local rule, seen = nil, 0
local function one() return 1 end
local function two() return seen end
local act = one
require("xdp").attach(function(pkt)
  local udp = pkt.udp
  if not udp then return end
  seen = seen + 1
  if udp.dport == 7001 or udp.dport == 7002 then rule = rules[udp.dport - 7000] end
  if udp.dport == 7003 and rule then rule.hits = rule.hits + 1 end
  if udp.dport == 7004 then act = two elseif udp.dport == 7006 then act = one end
  if udp.dport == 7005 then rules[1].hits = act() + 100 end
end)
LUA
for form in expanded general; do
    attach right0 "$WORK/count.lua" --netns "$RIGHT" --form "$form"
    is 'rule' nil || die "the variable is not what load time left"
    send 7002
    eventually "the handler's table is seen" is 'rule == rules[2], rule and rule.name' $'true\tsecond'
    run 'rule = nil'
    is 'rule' nil || die "nil was not assigned"
    send 7003
    eventually "the handler has nil, too" is 'seen, rules[1].hits, rules[2].hits' $'2\t0\t0'
    run 'rule = rules[1]'
    send 7003
    eventually "the handler has the table that was assigned" is 'seen, rules[1].hits, rules[2].hits' $'3\t1\t0'
    if "$MOONHOOK" exec count -e 'rule = {}' 2>"$WORK/log"; then die "a new table was taken"; fi
    grep -qF "it cannot be a table value" "$WORK/log" || die "$(cat "$WORK/log")"
    is 'rule == rules[1]' true || die "the variable is not what it was"
    is 'act()' 1 || die "the function is not that of load time"
    send 7004
    eventually "the handler's function is seen" is 'seen, act()' $'4\t4'
    run 'act = one'
    send 7005
    eventually "the handler has the function that was assigned" is 'seen, rules[1].hits' $'5\t101'
    detach
done
echo "a variable that handlers assign is not the map that it named at load time"
cat >"$WORK/count.lua" <<'LUA'
local rules, config = { {}, {} }, {}
local rule, seen = rules[1], 0
require("xdp").attach(function(pkt)
  local udp = pkt.udp
  if not udp then return end
  seen = seen + 1
  if udp.dport == 7001 then rules[1][#pkt] = 99 end
  if udp.dport == 7002 then rule = rules[2] elseif udp.dport == 7003 then rule = config end
end)
LUA
for form in expanded general; do
    attach right0 "$WORK/count.lua" --netns "$RIGHT" --form "$form"
    send 7002
    eventually "the handler's table is seen" is 'seen, rule == rules[2]' $'1\ttrue'
    run 'rule = config'
    is 'rule == config, rule == rules[2]' $'true\tfalse' || die "the variable is not assigned"
    send 7001
    eventually "the handlers go on" is 'seen, rule == config' $'2\ttrue'
    detach
done
echo "everything went as expected"
