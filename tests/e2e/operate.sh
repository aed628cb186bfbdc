#!/usr/bin/env bash
# Running scripts from outside: list, reload, events, stop, --watch, refusals, peers, and what a killed process leaves.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin operate
local_pair

# script WORD: a handler that counts the datagrams to port 7001 and prints the count after WORD.
script() {
    cat <<LUA
local count = 0
require("xdp").attach(function(pkt)
  local udp = pkt.udp
  if udp and udp.dport == 7001 then
    count = count + 1
    print("$1", count)
  end
end)
LUA
}

# start NAME OPTION…: runs NAME.lua in the background and waits until it is attached.
start() {
    local name=$1
    shift
    # What an earlier process said is not what this one says.
    rm -f "$WORK/$name.out"
    "$MOONHOOK" run right0 "$WORK/$name.lua" --netns "$NETNS" "$@" >"$WORK/$name.out" 2>"$WORK/$name.err" </dev/null &
    RUN=$!
    PIDS+=("$RUN")
    eventually "moonhook run attaches" grep -qs '^attached' "$WORK/$name.out"
}

send() {
    ip netns exec "$NETNS" bash -c 'echo x >/dev/udp/192.0.2.2/7001'
}

has_xdp() {
    ip -n "$NETNS" link show dev right0 | grep -q xdp
}

# refuses CODE DIAGNOSTIC COMMAND…: the command ends with CODE and complains of DIAGNOSTIC.
refuses() {
    local code=$1 diagnostic=$2
    shift 2
    fails "$code" "$@"
    grep -qF "error[$diagnostic]" "$WORK/fails.err" || die "'$*' said: $(cat "$WORK/fails.err")"
}

echo "a name, a list, events"
script one >"$WORK/count.lua"
start count
[ "$(stat -c %a "$WORK/run" "$WORK/run/count.sock" | tr '\n' ' ')" = "700 600 " ] || die "wrong permissions"
"$MOONHOOK" list >"$WORK/list"
grep -Eq "^count +right0 \($NETNS\) +xdp native +$RUN +" "$WORK/list" || die "the list says: $(cat "$WORK/list")"
"$MOONHOOK" events count --json >"$WORK/events" &
EVENTS=$!
PIDS+=("$EVENTS")
eventually "events are watched" grep -q watching "$WORK/events"
send
eventually "the print is shown" grep -qx 'one	1' "$WORK/count.out"

echo "a reload keeps the count"
script two >"$WORK/count.lua"
"$MOONHOOK" reload count >"$WORK/reload"
grep -qx '  variable count: kept' "$WORK/reload" || die "the reload says: $(cat "$WORK/reload")"
send
eventually "the new script prints" grep -qx 'two	2' "$WORK/count.out"

echo "a script that is refused leaves the present one running"
echo 'x = = 1' >"$WORK/bad.lua"
refuses 1 MH0102 "$MOONHOOK" reload count "$WORK/bad.lua"
grep -qF "$WORK/bad.lua:1:3" "$WORK/fails.err" || die "no line: $(cat "$WORK/fails.err")"
echo 'require("xdp").attach(function(pkt) return pkt.tpc and 1 end)' >"$WORK/bad.lua"
refuses 1 MH0211 "$MOONHOOK" reload count "$WORK/bad.lua"
refuses 3 MH0101 "$MOONHOOK" reload count "$WORK/none.lua"
send
eventually "the present script prints" grep -qx 'two	3' "$WORK/count.out"

echo "another script, with a variable of another type"
cat >"$WORK/other.lua" <<'LUA'
local count, seen = false, 0
require("xdp").attach(function(pkt)
  if pkt.udp and pkt.udp.dport == 7001 then
    count = not count
    seen = seen + 1
    print("other", count, seen)
  end
end)
LUA
"$MOONHOOK" reload count "$WORK/other.lua" --json >"$WORK/reload.json"
jq -e --arg script "$WORK/other.lua" '
    .scripts == [$script] and .timing.total >= .timing.update
    and (.variables | map({(.name): .outcome}) | add) == {"count": "reset", "seen": "new"}
' "$WORK/reload.json" >/dev/null || die "the reload says: $(cat "$WORK/reload.json")"
send
eventually "the other script prints" grep -qx 'other	true	1' "$WORK/count.out"
"$MOONHOOK" list --json | jq -e '.[0] | .reloads == 2 and .packets >= 4 and .errors == 0' >/dev/null || die "the list"

echo "names are taken once"
refuses 3 MH0803 "$MOONHOOK" run left0 "$WORK/count.lua" --netns "$NETNS" --name count
"$MOONHOOK" run left0 "$WORK/count.lua" --netns "$NETNS" >"$WORK/second.out" 2>"$WORK/second.err" &
SECOND=$!
PIDS+=("$SECOND")
eventually "a second one runs" grep -q "as 'count-2'$" "$WORK/second.out"
"$MOONHOOK" stop count-2
wait "$SECOND" || die "the second one ended with $?"

echo "others are not answered"
chmod 755 "$WORK" "$WORK/run"
chmod 666 "$WORK/run/count.sock"
refuses 3 MH0808 setpriv --reuid=65534 --regid=65534 --clear-groups "$MOONHOOK" stop count
chmod 700 "$WORK/run"
refuses 3 MH0801 setpriv --reuid=65534 --regid=65534 --clear-groups "$MOONHOOK" list
refuses 3 MH0805 setpriv --reuid=65534 --regid=65534 --clear-groups "$MOONHOOK" stop count

echo "stop detaches before it returns"
"$MOONHOOK" stop count
! has_xdp || die "after stop a program is still attached"
wait "$RUN" || die "it ended with $?"
wait "$EVENTS" || die "events ended with $?"
jq -es '[.[] | .text // .type] == ["watching", "one\t1", "reloaded", "two\t2", "two\t3", "reloaded", "other\ttrue\t1"]' "$WORK/events" \
    >/dev/null || die "the events are: $(cat "$WORK/events")"
[ ! -e "$WORK/run" ] || die "left behind: $(ls "$WORK/run")"

echo "--watch follows the files, also a list that the script reads"
printf '7001\n' >"$WORK/ports.txt"
cat >"$WORK/watched.lua" <<'LUA'
local ports = {}
for line in io.lines("ports.txt") do
  ports[tonumber(line)] = true
end
require("xdp").attach(function(pkt)
  if pkt.udp and ports[pkt.udp.dport] then
    print("listed")
  end
end)
LUA
start watched --watch
send
eventually "a listed port prints" grep -qx listed "$WORK/watched.out"
echo 'end end' >"$WORK/new.lua"
cp "$WORK/watched.lua" "$WORK/good.lua"
mv "$WORK/new.lua" "$WORK/watched.lua"
eventually "the error is shown" grep -q 'error\[MH0102\]' "$WORK/watched.err"
sed 's/listed"/again"/' "$WORK/good.lua" >"$WORK/watched.lua"
eventually "the reload is shown" grep -q '^reloaded' "$WORK/watched.out"
send
eventually "the new script prints" grep -qx again "$WORK/watched.out"
printf '7009\n' >"$WORK/ports.txt"
# Two changes at once are one reload.
eventually "the list is read again" eval '[ "$(grep -c "^reloaded" "$WORK/watched.out")" -ge 2 ]'
sed 's/print("again")/return xdp.DROP/; 1i local xdp = require "xdp"' "$WORK/watched.lua" >"$WORK/new.lua"
mv "$WORK/new.lua" "$WORK/watched.lua"
eventually "a warning is shown" grep -qF "warning[MH0220]: $WORK/watched.lua:8:" "$WORK/watched.out"
eventually "the script is read again" eval '[ "$(grep -c "^reloaded" "$WORK/watched.out")" -ge 3 ]'

echo "a killed process leaves nothing attached, and its name is free"
kill -KILL "$RUN"
wait "$RUN" 2>/dev/null || true
eventually "the kernel detaches" eval '! has_xdp'
[ -e "$WORK/run/watched.sock" ] || die "there is no stale socket to try"
[ "$("$MOONHOOK" list --json)" = "[]" ] || die "a dead script is listed"
refuses 3 MH0804 "$MOONHOOK" reload watched
start watched
"$MOONHOOK" list | grep -q '^watched ' || die "the name was not free"
"$MOONHOOK" stop watched

echo "everything went as expected"
