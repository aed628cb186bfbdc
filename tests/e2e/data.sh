#!/usr/bin/env bash
# An object of load time (docs/data.md): handlers and control code read and write the same bytes, in both forms, and a reload gives a running filter other layouts.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin data
local_pair

# script BIT: counts datagrams to port 7000, and has the object's second word at that bit of the UDP header.
script() {
    cat >"$WORK/filter.lua" <<LUA
local data = require "data"
local xdp = require "xdp"

counters = data.new(8):layout { all = { 0, 32 }, last = { 32, 16 } }
local ethernet = data.layout { type = { 96, 16 } }
local ip = data.layout { ihl = { 4, 4 }, proto = { 72, 8 } }
local udp = data.layout { port = { 16, 16 }, word = { $1, 16 } }

xdp.attach(function(pkt)
  if pkt:layout(ethernet).type ~= 0x0800 then return end
  local header = pkt:segment(14)
  if not header or header:layout(ip).proto ~= 17 then return end
  local datagram = header:segment(header.ihl * 4)
  if not datagram or datagram:layout(udp).port ~= 7000 then return end
  counters.all = counters.all + 1
  counters.last = datagram.word
end)
LUA
}

send() { ip netns exec "$NETNS" bash -c "printf '$1' >/dev/udp/192.0.2.2/7000"; }
ask() { "$MOONHOOK" exec filter -e "$1"; }

for form in expanded general; do
    script 32
    attach right0 "$WORK/filter.lua" --netns "$NETNS" --form $form
    send abcd
    send efghi
    is 2 ask 'counters.all'
    is 13 ask 'counters.last'
    ask 'counters.all = 70000' >/dev/null
    send x
    is 70001 ask 'counters.all'
    is true ask 'counters:getstring(0, 4) == "\0\1\x11\x71"'
    # Another layout, without a gap; the object is a new one.
    script 16
    "$MOONHOOK" reload filter "$WORK/filter.lua" >/dev/null
    send y
    is 7000 ask 'counters.last'
    detach
done
# A script without handlers runs and is over: one of ours, and luadata's own test, which says that it has passed.
cat >"$WORK/plain.lua" <<'LUA'
local data = require "data"
local object = data.new { 0xaa, 0xbb, 0xcc }
object:layout { word = { 4, 16 }, byte = { 16, 8, "number", "little" } }
object.word = 0x1234
assert(object.word == 0x1234 and object.byte == 0x4c and tostring(object) == "\xa1\x23\x4c")
print("plain script passed")
LUA
fails 0 timeout 20 "$MOONHOOK" run --quiet "$WORK/plain.lua"
is "plain script passed" cat "$WORK/fails.out"
fails 0 timeout 20 "$MOONHOOK" run --quiet --root "$WORK" --control --duration 0.5 "$WORK/plain.lua"
is "plain script passed" cat "$WORK/fails.out"
for test in "${MOONHOOK_PEERS:-}"/{luainkernel,lneto}+luadata/test.lua; do
    [ -e "$test" ] || continue
    fails 0 timeout 20 "$MOONHOOK" run --quiet "$test"
    is 'test passed ;-)' cat "$WORK/fails.out"
    # The same with the objects of Lunatik's scripts for processes, which go on.
    fails 0 timeout 20 "$MOONHOOK" run --quiet --root "$WORK" --control --duration 0.5 "$test"
    is 'test passed ;-)' cat "$WORK/fails.out"
done
echo "handlers and control code have the same bytes"
