#!/usr/bin/env bash
# `moonhook table … load`: under a flood, every packet sees one list, whole; what goes wrong changes nothing; reloads, pins and Lua code
# see the new list.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin lists
need_bpffs
local_pair

# A datagram has two names of seven bytes: one of the first list, one of the second.
cat >"$WORK/guard.lua" <<'LUA'
names = map { key = "string:64", value = "boolean", capacity = 120000 }
fixed = { z000001 = true }
local seen = map { key = "string:8", value = "int" }
local packets = 0

require("xdp").attach(function(pkt)
  local udp = pkt.udp
  if not udp or udp.dport ~= 7001 then
    return
  end
  packets = packets + 1
  local first, second = names[pkt:getstring(42, 7)], names[pkt:getstring(49, 7)]
  local which = "neither"
  if first and second then
    which = "both"
  elseif first then
    which = "first"
  elseif second then
    which = "second"
  end
  seen[which] = (seen[which] or 0) + 1
  if fixed[pkt:getstring(42, 7)] then
    seen.fixed = (seen.fixed or 0) + 1
  end
  if #pkt == 58 then
    print("packets", packets)
  end
end)
LUA
seq -f 'a%06.0f' 0 99999 >"$WORK/first.txt"
seq -f 'b%06.0f' 0 99999 >"$WORK/second.txt"

start() {
    "$MOONHOOK" run right0 "$WORK/guard.lua" --netns "$NETNS" --pin --bpffs "$BPFFS" >"$WORK/$1.out" 2>"$WORK/$1.err" </dev/null &
    RUN=$!
    PIDS+=("$RUN")
    eventually "moonhook run attaches" grep -qs '^attached' "$WORK/$1.out"
    eventually "moonhook run listens" test -e "$WORK/run/guard.sock"
}

table() {
    "$MOONHOOK" table guard "$@"
}

seen() {
    table seen get "$1" || true
}

# refused TEXT… -- FILE: `load` ends with 1 and says all that, and the list stays.
refused() {
    local status=0 texts=()
    while [ "$1" != -- ]; do
        texts+=("$1")
        shift
    done
    table names load "$2" >"$WORK/fails.out" 2>"$WORK/fails.err" || status=$?
    [ "$status" = 1 ] || die "loading $2 ended with $status"
    for text in "${texts[@]}"; do
        grep -qF -- "$text" "$WORK/fails.err" || die "it does not say $text: $(cat "$WORK/fails.err")"
    done
    holds_first
}

holds_first() {
    is 'names: string:64 → boolean, 100000 of 120000 entries' table names
    is true table names get a054321
}

# send TEXT: one datagram.
send() {
    ip netns exec "$NETNS" bash -c "printf %s '$1' >/dev/udp/192.0.2.2/7001"
}

start first
is '100000 entries loaded' table names load "$WORK/first.txt"
holds_first

echo "under a flood two lists change places"
# The numbers go through both lists at different paces.
ip netns exec "$NETNS" bash -c '
    exec 3>/dev/udp/192.0.2.2/7001
    number=0
    while [ -e "$0" ]; do
        number=$(((number + 7919) % 100000))
        printf "a%06db%06d" "$number" "$((99999 - number))" >&3
    done' "$WORK/first.txt" 2>/dev/null &
FLOOD=$!
PIDS+=("$FLOOD")
eventually "the flood has begun" eval '[ "$(seen first)" != nil ]'
for turn in $(seq "${MOONHOOK_SWAPS:-4}"); do
    is '100000 entries loaded' table names load "$WORK/second.txt"
    is '100000 entries loaded' table names load "$WORK/first.txt"
done
kill -KILL "$FLOOD"
wait "$FLOOD" 2>/dev/null || true
echo "first $(seen first), second $(seen second), both $(seen both), neither $(seen neither)"
[ "$(seen first)" -ge 1000 ] && [ "$(seen second)" -ge 1000 ] || die "there were not enough packets"
is nil table seen get both
is nil table seen get neither
"$MOONHOOK" list --bpffs "$BPFFS" --json | jq -e '.[0] | .reloads == 0 and .errors == 0 and .lost_events == 0' >/dev/null ||
    die "the list: $("$MOONHOOK" list --bpffs "$BPFFS")"

echo "what handlers have in variables goes on"
total=$(($(seen first) + $(seen second)))
send a000007b000007++
eventually "the count is shown" grep -qx "packets	$((total + 1))" "$WORK/first.out"
is $((total + 1)) "$MOONHOOK" exec guard -e packets

echo "what goes wrong changes nothing"
{ head -n 5000 "$WORK/second.txt"; printf '%065d\n' 0 | tr 0 x; } >"$WORK/long.txt"
refused 'error[MH0701]' 'the string has 65 bytes' "in line 5001 of $WORK/long.txt" -- "$WORK/long.txt"
seq -f 'c%06.0f' 0 129999 >"$WORK/many.txt"
refused 'error[MH0702]' "in line 120001 of $WORK/many.txt" -- "$WORK/many.txt"
{ sed 's/$/,true/' "$WORK/second.txt"; echo '"x'; } >"$WORK/quotes.csv"
refused 'error[MH0015]' "$WORK/quotes.csv:100001" -- "$WORK/quotes.csv"
printf '["b000001", true]\n["b000002", 7]\n' >"$WORK/type.jsonl"
refused 'error[MH0701]' "in line 2 of $WORK/type.jsonl" -- "$WORK/type.jsonl"

echo "nor does a client that goes in the middle"
mkfifo "$WORK/pipe"
env --default-signal=INT "$MOONHOOK" table guard names load "$WORK/pipe" >"$WORK/pipe.out" 2>&1 &
CLIENT=$!
PIDS+=("$CLIENT")
exec 4>"$WORK/pipe"
cat "$WORK/second.txt" >&4
kill -INT "$CLIENT"
status=0
wait "$CLIENT" || status=$?
exec 4>&-
[ "$status" = 130 ] || die "Ctrl-C ended it with $status"
holds_first

echo "--add adds; Lua code, deleting and dumps see the new list"
is '100000 entries loaded' table names load "$WORK/second.txt"
head -n 10 "$WORK/first.txt" >"$WORK/some.txt"
is '10 entries loaded' table names load "$WORK/some.txt" --add
is 'names: string:64 → boolean, 100010 of 120000 entries' table names
is $'true\tnil\ttrue' "$MOONHOOK" exec guard -e 'names.a000009, names.a000010, names.b000001'
is 100010 "$MOONHOOK" exec guard -e 'local n = 0 for _ in pairs(names) do n = n + 1 end return n'
table names delete b000001
"$MOONHOOK" exec guard -e 'names.b000002 = nil'
[ "$(table names dump | wc -l)" = 100008 ] || die "the dump has another length"

echo "a table that handlers only read"
before=$(seen second)
send z000001b000100
eventually "the handler sees the script's own" eval '[ "$(seen fixed)" = 1 ]'
printf 'z000002\nz000003\n' >"$WORK/fixed.txt"
table fixed load "$WORK/fixed.txt" >"$WORK/fixed.out"
grep -qx '2 entries loaded' "$WORK/fixed.out" && grep -qx '  table names: kept' "$WORK/fixed.out" || die "it says: $(cat "$WORK/fixed.out")"
is $'true\tnil' "$MOONHOOK" exec guard -e 'fixed.z000002, fixed.z000001'
send z000001b000100
send z000002b000100
eventually "the handler sees the new ones" eval '[ "$(seen second)" = "$((before + 3))" ]'
is 2 table seen get fixed
"$MOONHOOK" reload guard >"$WORK/reload.out"
is $'nil\ttrue' "$MOONHOOK" exec guard -e 'fixed.z000002, fixed.z000001'
table absent load "$WORK/fixed.txt" 2>"$WORK/fails.err" && die "there is no such table"
grep -qF 'error[MH0704]' "$WORK/fails.err" || die "it said: $(cat "$WORK/fails.err")"

echo "the list survives the process"
kill -KILL "$RUN"
wait "$RUN" 2>/dev/null || true
start second
grep -qx '  table names: kept' "$WORK/second.out" || die "it says: $(cat "$WORK/second.out")"
is 'names: string:64 → boolean, 100008 of 120000 entries' table names
[ "$(find "$BPFFS" -name 'map-*' | wc -l)" = "$(jq '.maps | length' "$WORK/run/guard.json")" ] || die "too many pins: $(find "$BPFFS")"
"$MOONHOOK" stop guard --bpffs "$BPFFS"
wait "$RUN" || die "it ended with $?"
[ -z "$(find "$BPFFS" "$WORK/run" -mindepth 1 2>/dev/null)" ] || die "left behind: $(find "$BPFFS" "$WORK/run")"
echo "everything went as expected"
