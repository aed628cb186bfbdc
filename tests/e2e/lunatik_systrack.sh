#!/usr/bin/env bash
# Probes of Lunatik's: a script of ours, and with MOONHOOK_PEERS, a folder with Lunatik's checkout, its example systrack. System calls of other processes are
# counted exactly, also where several make them at once, those of the process itself are not, and nothing is left when probes stop.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin lunatik_systrack
[ -c /dev/fuse ] || skip "the kernel has no FUSE"
have python3 || skip "python3 is not installed"
[ "$(uname -m)" = x86_64 ] || skip "system calls have other numbers on this machine"
OWN=mh-calls-$$ DEVICES=()

# Devices that a test which has failed may leave.
leave() {
  local status=$? name
  "$MOONHOOK" lunatik stop direct >/dev/null 2>&1 || true
  end_processes ${RUN:+"$RUN"} "${PIDS[@]}"
  for name in "${DEVICES[@]}"; do
    umount -l "/dev/$name" 2>/dev/null || true
    [ ! -f "/dev/$name" ] || rm -f "/dev/$name"
  done
  set +e
  (exit "$status")
  clean_up
}
trap leave EXIT

# start SCRIPT FOLDER COMMAND…: runs it, by the command if there is one; RUN and OUT are the process and what it prints.
start() {
  local script=$1 folder=$2
  shift 2
  OUT=$WORK/${script##*/}.out
  : >"$OUT"
  "$@" "$MOONHOOK" run "$folder/$script.lua" --root "$folder" --control --name it >"$OUT" 2>&1 &
  RUN=$!
  eventually "$script runs" grep -q '^running ' "$OUT"
}

# end NAME: stops it; the device of that name goes with it.
end() {
  "$MOONHOOK" stop it >/dev/null
  wait "$RUN" || die "it ended with $?: $(cat "$OUT")"
  RUN=''
  [ ! -e "/dev/$1" ] || die "/dev/$1 is still there"
}

# shown DEVICE LINE: the number that a read of the device has in the line of that name; 0 if it has none.
shown() {
  timeout 5 cat "/dev/$1" >"$WORK/shown" || die "cat of /dev/$1 ended with $?"
  LC_ALL=C sort -c "$WORK/shown" || die "the lines of /dev/$1 are not sorted: $(cat "$WORK/shown")"
  awk -F': ' -v "name=$2" '$1 == name { found = $2 } END { print found + 0 }' "$WORK/shown"
}

shows() { [ "$(shown "$1" "$2")" = "$3" ]; }

# call FUNCTION TIMES [PROCESSES]: processes make a system call so often.
call() {
  local ended=() process
  for ((process = 0; process < ${3:-1}; process++)); do
    python3 -c "
import os
for _ in range($2): os.$1" &
    ended+=($!)
  done
  for process in "${ended[@]}"; do wait "$process"; done
}

# grows DEVICE LINE NUMBER COMMAND…: with the command its number grows by that, and stays so.
grows() {
  local device=$1 line=$2 expected
  expected=$(($(shown "$1" "$2") + $3))
  shift 3
  "$@"
  eventually "$line is $expected" shows "$device" "$line" "$expected"
  sleep 0.2
  shows "$device" "$line" "$expected" || die "$line is $(shown "$device" "$line"), not $expected"
}

mkdir "$WORK/root"
DEVICES+=("$OWN")
cat >"$WORK/root/tracker.lua" <<LUA
local device, lunatik, rcu, socket = require("device"), require("lunatik"), require("rcu"), require("socket")
local counts = rcu.table()
local probes = lunatik.runtime("probes", "hardirq")
probes:resume(counts)
local own, driver = socket.new(2, 2, 0), { name = "$OWN" }
function driver:read(length, offset)
  if offset > 0 then return "" end
  local lines = {}
  rcu.map(counts, function(name, count) lines[#lines + 1] = name .. ": " .. count end)
  table.sort(lines)
  return table.concat(lines, "\n") .. "\n"
end
function driver:write(text)
  if text == "own\n" then
    for _ = 1, 50 do pcall(own.getpeername, own) end
  else
    probes:resume()
  end
end
device.new(driver)
LUA
cat >"$WORK/root/probes.lua" <<'LUA'
local probe, places = require("probe"), require("syscall.table")
local counts, probes = nil, {}
local function count(name) counts[name] = (counts[name] or 0) + 1 end
for name, place in pairs(places) do
  probes[name] = probe.new(place, { pre = function() if counts then count(name) end end })
end
local twice = probe.new(places.sched_rr_get_interval, { post = function(place, dump)
  if place ~= places.sched_rr_get_interval then error("of another system call") end
  if not counts.returned then dump() end
  count("returned")
end })
print("function", select(2, pcall(probe.new, "tcp_v4_connect", { pre = print })))
-- What each call does: first the table, then steps.
local function third()
  twice:stop()
  for _, each in pairs(probes) do each:stop() end
  print("stopped", pcall(twice.enable, twice, true))
end
local function second()
  twice:enable(true)
  return third
end
local function first()
  twice:enable(false)
  return second
end
return function(shared)
  counts = shared
  return first
end
LUA

# What the process has attached in the kernel.
attached() { find "/proc/$RUN/fd" -lname 'anon_inode:bpf*link*' -o -lname 'anon_inode:bpf-raw-tracepoint' | wc -l; }
has_nothing_attached() { [ "$(attached)" = 0 ]; }

start tracker "$WORK/root"
if [ ! -e /sys/bus/event_source/devices/kprobe ]; then
  grep -q '^function.*failed to register probe (-95)' "$OUT" || die "$(cat "$OUT")"
  grep -q '^\[probe\] MH0117: .*no kprobes' "$OUT" || die "$(cat "$OUT")"
fi
[ "$(attached)" = 2 ] || die "$(attached) programs are attached"
grows "$OWN" sched_rr_get_interval 1234 call 'sched_rr_get_interval(0)' 1234
[ "$(shown "$OWN" returned)" = 1234 ] || die "$(shown "$OWN" returned) have returned"
[ "$(grep -c 'registers are gone' "$OUT")" = 1 ] || die "$(cat "$OUT")"
grows "$OWN" sched_get_priority_max 20000 call 'sched_get_priority_max(0)' 5000 4
# Pauses and the end.
echo off >"/dev/$OWN"
grows "$OWN" sched_rr_get_interval 100 call 'sched_rr_get_interval(0)' 100
[ "$(shown "$OWN" returned)" = 1234 ] || die "a disabled probe has counted"
echo on >"/dev/$OWN"
grows "$OWN" returned 50 call 'sched_rr_get_interval(0)' 50
echo stop >"/dev/$OWN"
eventually "the probes stop" grep -q '^stopped.*null pointer dereference' "$OUT"
eventually "nothing is attached" has_nothing_attached
grows "$OWN" sched_rr_get_interval 0 call 'sched_rr_get_interval(0)' 100
end "$OWN"

# A script has probes itself where Lunatik's command says so, and otherwise not.
cat >"$WORK/root/direct.lua" <<LUA
local probe, places, count = require("probe"), require("syscall.table"), 0
local kept = probe.new(places.sched_rr_get_interval, { pre = function() count = count + 1 end })
require("device").new{ name = "$OWN", read = function(_, length, offset) return offset == 0 and "count: " .. count .. "\n" or "" end }
LUA
LUNATIK=("$MOONHOOK" lunatik run direct)
FOLDERS=(--root "$WORK/root" --log-folder "$WORK/logs")
fails 1 "${LUNATIK[@]}" "${FOLDERS[@]}"
grep -q 'runtime context mismatch' "$WORK/fails.err" || die "$(cat "$WORK/fails.err")"
"${LUNATIK[@]}" hardirq "${FOLDERS[@]}"
grows "$OWN" count 100 call 'sched_rr_get_interval(0)' 100
"$MOONHOOK" lunatik stop direct
[ ! -e "/dev/$OWN" ] || die "/dev/$OWN is still there"

# Its own calls are not counted, whatever number the process has for itself.
own_calls() {
  local before
  before=$(shown "$OWN" getpeername)
  echo own >"/dev/$OWN"
  sleep 0.2
  [ "$(($(shown "$OWN" getpeername) - before))" -lt 50 ] || die "the process's own calls are counted"
}
if unshare --pid --fork true 2>/dev/null; then
  start tracker "$WORK/root" unshare --pid --fork --kill-child
  own_calls
  grows "$OWN" sched_rr_get_interval 10 call 'sched_rr_get_interval(0)' 10
  end "$OWN"
fi
start tracker "$WORK/root"
own_calls
end "$OWN"

# Without the privileges for it there are no probes.
if have setpriv; then
  fails 1 setpriv --bounding-set=-all --inh-caps=-all "$MOONHOOK" run "$WORK/root/tracker.lua" --root "$WORK/root" --control
  cat "$WORK/fails.err" "$WORK/fails.out" >"$WORK/refused"
  grep -q 'failed to register probe (-1)' "$WORK/refused" || die "$(cat "$WORK/refused")"
  grep -q 'MH0501: .*CAP_BPF' "$WORK/refused" || die "$(cat "$WORK/refused")"
fi

# Theirs.
lunatik=${MOONHOOK_PEERS:-}/luainkernel+lunatik
[ -n "${MOONHOOK_PEERS:-}" ] && [ -d "$lunatik" ] || exit 0
[ ! -e /dev/systrack ] || skip "there is a /dev/systrack"
DEVICES+=(systrack)
start examples/systrack/device "$lunatik"
grows systrack sched_rr_get_interval 777 call 'sched_rr_get_interval(0)' 777
grows systrack sched_get_priority_min 3000 call 'sched_get_priority_min(0)' 1000 3
end systrack
! grep -q '\.lua:' "$OUT" || die "$(cat "$OUT")"
# What is killed leaves a device that nobody answers, and none waits for; the next one has it again.
start examples/systrack/device "$lunatik"
{ kill -KILL "$RUN" && wait "$RUN"; } 2>/dev/null || true
RUN=''
! timeout 5 cat /dev/systrack >/dev/null 2>&1 || die "a dead device is read"
start examples/systrack/device "$lunatik"
grows systrack sched_rr_get_interval 10 call 'sched_rr_get_interval(0)' 10
end systrack
