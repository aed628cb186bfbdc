#!/usr/bin/env bash
# A function for each flow, on a veth between two namespaces: functions come from load time, from control code and from outside, use
# what handlers use, are replaced and taken out while datagrams arrive, and one that is refused changes nothing.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin flow
veth_pair

# send PORT COUNT: datagrams of 4 bytes.
send() {
    ip netns exec "$LEFT" bash -c "for i in \$(seq $2); do printf ping >/dev/udp/192.0.2.2/$1; done"
}

# Lua code in the running script; what it gives is one line.
lua() {
    "$MOONHOOK" exec flows -e "$1" 2>&1 || true
}

gives() {
    [[ -z "${SHOW:-}" ]] || lua "$1" >&2
    [[ "$(lua "$1")" == "$2" ]]
}

cat >"$WORK/flows.lua" <<'LUA'
local flow = require "flow"
local PASS <const>, DROP <const> = HOOK_PASS, HOOK_DROP

total = 0
local seen = map{key = "int", value = "int"}

flows = flow.new{key = {"src", "dport"}, capacity = 1000, idle = 60, default = function(pkt)
  if pkt.udp and pkt.udp.dport >= 7000 then
    total = total + 1
  end
end}

flows:set({src = "192.0.2.1", dport = 7001}, function(pkt)
  total = total + 100
  seen[pkt.udp.dport] = (seen[pkt.udp.dport] or 0) + 1
  return DROP
end)

HOOK_ATTACH(flows)
LUA

# try HOOK ATTACH PASS DROP FORM
try() {
    local name="$1-$5"
    sed -e "s/HOOK_ATTACH/$2/; s/HOOK_PASS/$3/; s/HOOK_DROP/$4/" "$WORK/flows.lua" >"$WORK/$name.lua"
    attach right0 "$WORK/$name.lua" --netns "$RIGHT" --name flows --form "$5"
    send 7001 3
    eventually "$name: the flow of load time is handled by its function" gives 'total, seen[7001]' $'300\t3'
    send 7002 2
    eventually "$name: other packets are handled by the default" gives 'total' 302
    lua 'flows:set("192.0.2.1,7002", "function(pkt) total = total + 1000; seen[pkt.udp.dport] = 7 end")' \
        | grep -q 'code$' || die "$name: a text becomes a function"
    send 7002 1
    eventually "$name: the new function is called" gives 'total, seen[7002]' $'1302\t7'
    gives 'select(2, flows:get("192.0.2.1,7002")).packets' 1 || die "$name: packets are counted"
    # What is refused leaves the flow as it is.
    lua 'flows:set("192.0.2.1,7002", "function(pkt) total = true end")' | grep -q 'total. is integer in the script' ||
        die "$name: another type is refused"
    lua 'flows:set("192.0.2.1,7002", "function(pkt) ")' | grep -q 'expected near' || die "$name: a syntax error is said"
    lua 'flows:set("192.0.2.1,7002", "7")' | grep -q 'where a function is expected' || die "$name: no function"
    lua 'flows:set("192.0.2.1,7002", "function(pkt) return redirect(\"right0\") end")' | grep -q 'by their numbers only' ||
        die "$name: names of interfaces"
    lua 'flows:set("192.0.2.1", "7")' | grep -q 'a key has 2 values' || die "$name: no key"
    send 7002 1
    eventually "$name: the function is still there" gives 'total' 2302
    # Two flows with one function.
    lua 'for port = 7003, 7004 do flows:set({src = "192.0.2.1", dport = port}, "function(pkt) local n = pkt.udp.dport\nerror(\"no \" .. n) end") end' >/dev/null
    send 7003 1
    eventually "$name: the error names its line" grep -q '7003' "$WORK/run.err"
    grep -q 'flow [0-9]*:2: no 7003' "$WORK/run.err" || die "$name: place of the error"
    gives 'select(2, flows:get("192.0.2.1,7003")).errors, select(2, flows:get("192.0.2.1,7004")).errors' $'1\t0' ||
        die "$name: errors count for the flow"
    gives 'flows:delete("192.0.2.1,7002")' true || die "$name: the flow is deleted"
    gives 'flows:delete("192.0.2.1,7002"), flows:get("192.0.2.1,7002")' $'false\tnil' || die "$name: it is gone"
    send 7002 1
    eventually "$name: the default again" gives 'total' 2303
    gives '(function() local n = 0; for key in flows:pairs() do n = n + key.dport end; return n end)()' 21008 ||
        die "$name: pairs"
    # The same from outside.
    printf 'function(pkt)\n  total = total + 5\nend\n' >"$WORK/five.lua"
    "$MOONHOOK" flow flows set src=192.0.2.1,dport=7002 "$WORK/five.lua" | grep -q '^expanded code after' ||
        die "$name: set from outside"
    send 7002 2
    eventually "$name: it is called" gives 'total' 2313
    "$MOONHOOK" flow flows | grep -q '^flows: by src, dport; 4 of 1000 flows, with 3 functions, 60 s' ||
        die "$name: $("$MOONHOOK" flow flows)"
    [[ "$("$MOONHOOK" flow flows list --by packets | head -1)" == $'src=192.0.2.1,dport=7001\t3 packets\t'* ]] ||
        die "$name: list: $("$MOONHOOK" flow flows list)"
    "$MOONHOOK" flow flows get 192.0.2.1,7002 --json | grep -q '"packets": 2' || die "$name: get"
    printf 'function(pkt)\n  total = "x"\nend\n' >"$WORK/wrong.lua"
    fails 1 "$MOONHOOK" flow flows set 192.0.2.1,7002 "$WORK/wrong.lua"
    grep -q 'wrong.lua:2:3' "$WORK/fails.err" || die "$name: the place of what is wrong: $(cat "$WORK/fails.err")"
    # What cannot be meant is said, and the function set.
    printf 'function(pkt)\n  return conut + 1\nend\n' >"$WORK/typo.lua"
    "$MOONHOOK" flow flows set 192.0.2.1,7006 "$WORK/typo.lua" 2>"$WORK/typo.err" | grep -q 'code after' || die "$name: a typo"
    grep -q 'warning\[MH0205\]: .*typo.lua:2: .*conut' "$WORK/typo.err" || die "$name: its warning: $(cat "$WORK/typo.err")"
    lua 'flows:set("192.0.2.1,7006", "function(pkt) return conut + 1 end")' | grep -q 'nil value .*conut' || die "$name: its warning in Lua"
    gives 'flows:delete("192.0.2.1,7006")' true || die "$name: the typo goes"
    # A reload keeps flows whose functions still compile, with their counts.
    printf 'function(pkt)\n  seen[pkt.udp.dport] = more\nend\n' >"$WORK/more.lua"
    "$MOONHOOK" flow flows set 192.0.2.1,7005 "$WORK/more.lua" >/dev/null || die "$name: another flow"
    sed -i '1i more = {}' "$WORK/$name.lua"
    "$MOONHOOK" reload flows >"$WORK/reload.out" || die "$name: reload"
    grep -q '^  flows flows: 4 kept, 1 lost: .*more.lua:2: ' "$WORK/reload.out" ||
        die "$name: what is kept: $(cat "$WORK/reload.out")"
    send 7002 1
    eventually "$name: a flow that was kept" gives 'total, select(2, flows:get("192.0.2.1,7002")).packets' $'2318\t3'
    "$MOONHOOK" flow flows delete 192.0.2.1,7002 || die "$name: delete"
    ! "$MOONHOOK" flow flows get 192.0.2.1,7002 || die "$name: it is gone"
    finish
}

try xdp 'require("xdp").attach' 2 1 expanded
try tc 'require("tc").ingress' -1 2 expanded
# General code has its variables elsewhere: functions of flows have tables in common with it.
general() {
    local name="$1-general"
    sed -e "s/HOOK_ATTACH/$2/; s/HOOK_PASS/$3/; s/HOOK_DROP/$4/; s/ *total = total + 100$//" "$WORK/flows.lua" >"$WORK/$name.lua"
    attach right0 "$WORK/$name.lua" --netns "$RIGHT" --name flows --form general
    send 7001 3
    eventually "$name: the flow of load time is handled by its function" gives 'total, seen[7001]' $'0\t3'
    send 7002 2
    eventually "$name: other packets are handled by the default" gives 'total' 2
    lua 'flows:set("192.0.2.1,7002", "function(pkt) total = total + 1 end")' | grep -q 'has no variable .total.' ||
        die "$name: a variable is refused"
    lua 'flows:set("192.0.2.1,7002", "function(pkt) seen[pkt.udp.dport] = 7 end")' | grep -q 'general code$' ||
        die "$name: a text becomes a function"
    send 7002 1
    eventually "$name: the new function is called" gives 'total, seen[7002]' $'2\t7'
    # Errors of both forms count for the flow.
    lua 'for port = 7003, 7004 do flows:set({src = "192.0.2.1", dport = port}, "function(pkt) local n = pkt.udp.dport\nerror(\"no \" .. n) end") end' >/dev/null
    lua 'flows:set("192.0.2.1,7005", "function(pkt) local t = setmetatable({}, {__add = function(a, b) error(\"sum \" .. #pkt) end}) return t + 1 end")' |
        grep -q 'general code$' || die "$name: general code"
    send 7003 2
    send 7005 1
    eventually "$name: the error names its line" grep -q 'flow [0-9]*:2: no 7003' "$WORK/run.err"
    eventually "$name: the error of general code" grep -q 'flow [0-9]*:1: sum ' "$WORK/run.err"
    gives 'select(2, flows:get("192.0.2.1,7003")).errors, select(2, flows:get("192.0.2.1,7004")).errors, select(2, flows:get("192.0.2.1,7005")).errors' $'2\t0\t1' ||
        die "$name: errors count for the flow"
    finish
}

general xdp 'require("xdp").attach' 2 1
general tc 'require("tc").ingress' -1 2
# Flows come and go, with functions of their own, while datagrams arrive: none is lost or counted twice, functions that no flow has go, and
# flows without packets do.
cat >"$WORK/churn.lua" <<'LUA'
local flow = require "flow"
total = 0
flows = flow.new{key = {"dport"}, capacity = 50, idle = 1, default = function(pkt)
  if pkt.udp and pkt.udp.dport == 7000 then total = total + 1 end
end}
require("xdp").attach(flows)

function churn(count)
  for number = 1, count do
    local counts = "function(pkt) total = total + 1 end -- " .. number
    flows:set(7000, counts)
    flows:set(8000 + number % 40, counts)
    if number % 3 == 0 then flows:delete(8000 + (number + 7) % 40) end
    if number % 7 == 0 then flows:delete(7000) end
  end
end
LUA
attach right0 "$WORK/churn.lua" --netns "$RIGHT" --name flows
send 7000 2000 &
SEND=$!
for _ in $(seq 10); do
    lua 'churn(40)' >/dev/null
    "$MOONHOOK" reload flows >/dev/null || die "churn: reload"
done
wait "$SEND"
eventually "churn: every datagram is counted once" gives 'total' 2000
nothing_left() { "$MOONHOOK" flow flows | grep -q '^flows: by dport; 0 of 50 flows, with 0 functions'; }
eventually "churn: flows without packets go" nothing_left
only_one() { [ "$(bpftool prog show | grep -c ' name churn ')" = 1 ]; }
eventually "churn: nothing is left but the program" only_one
for number in $(seq 51); do lua "flows:set($number, 'function() end')"; done | grep -q 'room for 50 flows' || die "churn: a full table"
finish

# What the script itself sets goes with the script; what flows were given since then stays, and so does what they are given while a reload is
# under way, with all that was counted.
cat >"$WORK/late.lua" <<'LUA'
local flow = require "flow"
total = 0
flows = flow.new{key = {"dport"}, capacity = 1000}
flows:set(7001, "function(pkt) total = total + 1 end")
require("xdp").attach(flows)
LUA
attach right0 "$WORK/late.lua" --netns "$RIGHT" --name flows
send 7001 1
eventually "late: the script's text" gives 'total' 1
sed -i 's/total + 1 end/total + 10 end/' "$WORK/late.lua"
"$MOONHOOK" reload flows | grep -q '^  flows flows: 1 kept' || die "late: reload"
send 7001 1
eventually "late: the script's new text" gives 'total' 11
echo 'function(pkt) total = total + 100 end' >"$WORK/hundred.lua"
"$MOONHOOK" flow flows set 7001 "$WORK/hundred.lua" >/dev/null || die "late: set"
"$MOONHOOK" reload flows >/dev/null || die "late: reload"
send 7001 1
eventually "late: a text that was set since" gives 'total, select(2, flows:get(7001)).packets' $'111\t3'
for number in 0 1 2 3 4; do echo "function(pkt) total = total + 0 -- $number" $'\nend' >"$WORK/late.$number"; done
send 7001 2000 &
SEND=$!
(for number in $(seq 8001 8150); do "$MOONHOOK" flow flows set "$number" "$WORK/late.$((number % 5))" >/dev/null || echo "$number"; done) >"$WORK/late.out" &
SET=$!
for number in $(seq 10); do "$MOONHOOK" reload flows >/dev/null || die "late: reload $number"; done
wait "$SEND" "$SET"
[ ! -s "$WORK/late.out" ] || die "late: not set: $(cat "$WORK/late.out")"
counted() { "$MOONHOOK" flow flows get 7001 --json | grep -q '"packets": 2003'; }
eventually "late: every datagram is counted" counted
"$MOONHOOK" flow flows | grep -q '^flows: by dport; 151 of 1000 flows' || die "late: $("$MOONHOOK" flow flows)"
finish

# A text has the local variables of the table's other functions, also where a handler has nothing but the table.
cat >"$WORK/called.lua" <<'LUA'
local flow = require "flow"
local hits = map{key = "int", value = "int"}
local flows = flow.new{key = "dport", default = function(pkt) if pkt.udp then hits[pkt.udp.dport] = (hits[pkt.udp.dport] or 0) + 1 end end}
require("xdp").attach(function(pkt) return flows(pkt) end)
LUA
attach right0 "$WORK/called.lua" --netns "$RIGHT" --name flows
echo 'function(pkt) hits[pkt.udp.dport] = (hits[pkt.udp.dport] or 0) + 100 end' >"$WORK/hits.lua"
"$MOONHOOK" flow flows set 7001 "$WORK/hits.lua" >/dev/null || die "called: set"
send 7001 2
hit() { [ "$("$MOONHOOK" table flows hits get 7001)" = 200 ]; }
eventually "called: the text counts in the script's table" hit
finish

# What a flow is given while a reload is under way, it has from then on: no packet goes to the default in between.
cat >"$WORK/held.lua" <<'LUA'
local flow = require "flow"
missed = 0
flows = flow.new{key = "dport", capacity = 1000, default = function(pkt)
  if pkt.udp and pkt.udp.dport == 7777 then missed = missed + 1 end
end}
require("xdp").attach(flows)
LUA
attach right0 "$WORK/held.lua" --netns "$RIGHT" --name flows
lua 'for i = 1, 100 do flows:set(8000 + i, "function(pkt) return 2 end -- " .. i) end' >/dev/null
echo 'function(pkt) return 1 end' >"$WORK/one.lua"
for number in 1 2 3; do
    "$MOONHOOK" reload flows >/dev/null &
    RELOAD=$!
    sleep 0.2
    "$MOONHOOK" flow flows set 7777 "$WORK/one.lua" >/dev/null || die "held: set"
    send 7777 2000
    wait "$RELOAD" || die "held: reload $number"
    eventually "held: no packet misses its function" gives 'missed' 0
    "$MOONHOOK" flow flows delete 7777 || die "held: delete"
done
finish

# An error ends the frame, also where its verdict is the one that passes on: no other handler runs.
erring() {
    cat >"$WORK/erring.lua" <<'LUA'
local flow = require "flow"
later, others = 0, 0
local flows = flow.new{key = "dport", default = function(pkt) if pkt.udp then others = others + 1 end end}
flow.set(flows, 7001, "function(pkt) error('no ' .. pkt.udp.dport) end")
local attach = ATTACH
attach(flows)
attach(function(pkt) if pkt.udp and pkt.udp.dport == 7001 then later = later + 1 end end)
LUA
    sed -i "s/ATTACH/$1/" "$WORK/erring.lua"
    attach right0 "$WORK/erring.lua" --netns "$RIGHT" --name flows --form "$2" --on-error pass
    send 7001 3
    send 7002 1
    eventually "erring $1 $2: the others are handled" gives 'others' 1
    gives 'later' 0 || die "erring $1 $2: the next handler has run: $(lua later)"
    "$MOONHOOK" flow flows get 7001 --json | grep -q '"errors": 3' || die "erring $1 $2: the flow's errors"
    "$MOONHOOK" list --json | grep -q '"errors": 3' || die "erring $1 $2: the script's errors: $("$MOONHOOK" list --json)"
    finish
}
for form in expanded general; do
    erring 'require("xdp").attach' "$form"
    erring 'require("tc").ingress' "$form"
    erring 'function(f) require("netfilter").register{pf = 2, hooknum = 1, hook = f} end' "$form"
done

# A list in the place of a table's entries: functions of flows see it, too, and go on with variables of their own, in expanded code.
lists() {
    cat >"$WORK/lists.lua" <<'LUA'
local flow = require "flow"
blocked = map{key = "int", value = "int", capacity = 100}
results = map{key = "int", value = "int", capacity = 100}
local flows = flow.new{key = "dport", default = function(pkt) if pkt.udp then results[0] = blocked[pkt.udp.dport] or 0 end end, name = "byport"}
function closure()
  local calls = 0
  flow.set(flows, 7002, function(pkt) calls = calls + 1 results[100 + calls] = blocked[7002] or 0 end)
end
HOOK_ATTACH
LUA
    sed -i "s/HOOK_ATTACH/$4/" "$WORK/lists.lua"
    attach right0 "$WORK/lists.lua" --netns "$RIGHT" --name flows --form "$1"
    echo 'local n = 0 return function(pkt) n = n + 1 results[n] = blocked[7001] or 0 end' >"$WORK/own.lua"
    "$MOONHOOK" flow flows set 7001 "$WORK/own.lua" | grep -q "^$1 code" || die "lists: set"
    lua 'closure()'
    printf '7001,5\n7002,6\n' >"$WORK/first.csv"
    printf '7001,7\n7002,8\n' >"$WORK/second.csv"
    result() { [ "$("$MOONHOOK" table flows results get "$1" 2>/dev/null)" = "$2" ]; }
    send 7001 1
    send 7002 1
    eventually "lists: no list" result 1 0
    "$MOONHOOK" table flows blocked load "$WORK/first.csv" >/dev/null || die "lists: load"
    send 7002 1
    eventually "lists: the closure sees the first list, and counts on" result "$((100 + $2))" 6
    send 7001 1
    eventually "lists: the text sees the first list, and counts on" result "$2" 5
    "$MOONHOOK" table flows blocked load "$WORK/second.csv" >/dev/null || die "lists: load again"
    send 7001 1
    eventually "lists: the text sees the second list" result "$3" 7
    finish
}
lists expanded 2 3 'require("xdp").attach(flows)'
lists general 1 1 'require("xdp").attach(flows)'
# Functions for netfilter are loaded by way of an object file.
lists expanded 2 3 'require("netfilter").register{pf = 2, hooknum = 1, hook = flows}'

# By another function that makes keys, the same values are other keys.
cat >"$WORK/keyed.lua" <<'LUA'
local flow = require "flow"
flows = flow.new{key = function(pkt) return pkt.udp and pkt.udp.dport end}
require("xdp").attach(flows)
LUA
attach right0 "$WORK/keyed.lua" --netns "$RIGHT" --name flows
echo 'function(pkt) return 1 end' >"$WORK/one.lua"
"$MOONHOOK" flow flows set 7001 "$WORK/one.lua" >/dev/null || die "keyed: set"
"$MOONHOOK" reload flows >"$WORK/reload.out" || die "keyed: reload"
grep -q '^  flows flows: 1 kept' "$WORK/reload.out" || die "keyed: $(cat "$WORK/reload.out")"
sed -i 's/udp.dport end/udp.sport end/' "$WORK/keyed.lua"
"$MOONHOOK" reload flows >"$WORK/reload.out" || die "keyed: reload with another key"
grep -q '^  flows flows: 0 kept, 1 lost: .*such keys' "$WORK/reload.out" || die "keyed: $(cat "$WORK/reload.out")"
finish

echo "everything went as expected"
