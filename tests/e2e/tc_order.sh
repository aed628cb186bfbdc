#!/usr/bin/env bash
# Where programs stand among others at tc: first, last, before and behind others by name and number, in both forms, pinned too.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin order
have python3 || skip "python3 is not installed"
need_bpffs
local_pair

# The mark says which programs a packet has passed: a digit each.
script() {
    cat >"$WORK/$1.lua" <<LUA
local tc = require "tc"
tc.ingress(function(pkt)
  if pkt.udp and pkt.udp.dport == 7001 then pkt.mark = pkt.mark * 10 + $2 end
end, $3)
LUA
}
start() { "$MOONHOOK" run right0 "$WORK/$1.lua" --netns "$NETNS" --form "$form" "${@:2}" >"$WORK/$1.out" 2>"$WORK/$1.err" </dev/null & PIDS+=($!); eventually "$1 runs" runs "$1"; }

cat >"$WORK/end.lua" <<'LUA'
local tc = require "tc"
trail = 0
tc.ingress(function(pkt) if pkt.udp and pkt.udp.dport == 7001 then trail = pkt.mark end end, { last = true })
LUA

# passed: the programs that a packet has passed, in order.
passed() {
    "$MOONHOOK" exec end -e 'trail = 0' >"$WORK/exec.out"
    ip netns exec "$NETNS" python3 -c '
import socket
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one: one.sendto(b"x", ("192.0.2.2", 7001))'
    eventually "the packet arrives" eval '[ "$("$MOONHOOK" exec end -e trail)" != 0 ]'
    "$MOONHOOK" exec end -e trail
}
listed() { "$MOONHOOK" list --json | jq -r '.[].hook' | sort | tr '\n' ,; }

# beside NAME: the programs of its hook.
beside() {
    "$MOONHOOK" list --json |
        jq -r --arg name "$1" '.[] | select(.name == $name).neighbours[0].programs | map(.name + (if .own then ", its own" else "" end)) | join(" ")'
}

script one 1 nil
script two 2 '{ first = true }'
script three 3 '{ before = "one" }'
script four 4 '{ after = "two" }'
script other 6 '{ before = "nobody" }'
for form in expanded general; do
    start one
    start end
    for name in two three four; do start "$name"; done
    is 2431 passed
    is 'tc.ingress,tc.ingress after two,tc.ingress before one,tc.ingress first,tc.ingress last,' listed
    # The list names who else is there, in order.
    is 'two four three one end, its own' beside end
    is 'two four three, its own one end' beside three
    "$MOONHOOK" list | grep -q '^one is not alone at tc.ingress: two (number [0-9]*), four (number [0-9]*), three (number [0-9]*), one (number [0-9]*, its own), end (' ||
        die "$("$MOONHOOK" list)"
    # By the kernel's number; what comes without an order stands behind what was there, before what is last, or not.
    fails 3 "$MOONHOOK" run right0 "$WORK/other.lua" --netns "$NETNS" --form "$form"
    grep -q "MH0528.*no program 'nobody' at tc.ingress of 'right0'" "$WORK/fails.err" || die "$(cat "$WORK/fails.err")"
    grep -q "there are two (number [0-9]*), four (number" "$WORK/fails.err" || die "$(cat "$WORK/fails.err")"
    number=$(sed -n 's/.* one (number \([0-9]*\)).*/\1/p' "$WORK/fails.err")
    script five 5 "{ after = $number }"
    start five
    is 24315 passed
    # A reload leaves it where it is.
    sed -i 's/+ 4/+ 8/' "$WORK/four.lua"
    "$MOONHOOK" reload four >"$WORK/reload.out"
    is 28315 passed
    sed -i 's/+ 8/+ 4/' "$WORK/four.lua"
    "$MOONHOOK" stop four >"$WORK/stop.out"
    # Pinned programs stay in their places; the next process takes over.
    start four --pin --bpffs "$BPFFS"
    is 24315 passed
    kill -KILL "${PIDS[-1]}"
    wait "${PIDS[-1]}" 2>/dev/null || true
    is 24315 passed
    start four --pin --bpffs "$BPFFS"
    is 24315 passed
    [ -e "$BPFFS/four/link-tc+ingress@right0@after+20two" ] || die "the pins are $(ls "$BPFFS/four")"
    for name in one two three four five end; do "$MOONHOOK" stop "$name" --bpffs "$BPFFS" >"$WORK/stop.out"; done
    fails 3 "$MOONHOOK" run right0 "$WORK/other.lua" --netns "$NETNS" --form "$form"
    grep -q "no program is there" "$WORK/fails.err" || die "something is left: $(cat "$WORK/fails.err")"
done

wrong() {
    printf 'require("tc").egress(function() end, %s)\n' "$2" >"$WORK/wrong.lua"
    fails 1 "$MOONHOOK" check "$WORK/wrong.lua"
    grep -qF "$1" "$WORK/fails.err" || die "$2: $(cat "$WORK/fails.err")"
}
wrong "bad argument #2 to 'egress' (table expected, got string)" '"first"'
wrong "bad field 'first' (boolean expected, got number)" '{ first = 1 }'
wrong "bad field 'before' (name or number of a program expected, got boolean)" '{ before = true }'
wrong "bad order (one of 'first', 'last', 'before' and 'after' expected)" '{ first = true, last = true }'
wrong "bad order (fields 'first', 'last', 'before' or 'after' expected)" '{ front = true }'
