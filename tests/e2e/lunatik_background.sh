#!/usr/bin/env bash
# Scripts for Lunatik in the background, where things go wrong: one is stopped while it is still being loaded, by both commands; the file for what it prints has no room, and the script
# goes on, answers, and is told of. And what is listed of handlers in runtimes: their places, by as many queues as wanted, and what they have decided.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin lunatik_background
have python3 || skip "python3 is not installed"
need_bpffs
namespace NETNS one
ip -n "$NETNS" link set lo up
mkdir "$WORK/root" "$WORK/small"
# What goes on in the background is nobody's child.
leave() {
    local status=$? name
    trap - EXIT
    for name in endless told loud refuse marks; do "$MOONHOOK" stop "$name" >"$WORK/log" 2>&1 || true; done
    ! mountpoint -q "$WORK/small" || umount "$WORK/small"
    (exit "$status") || clean_up
    clean_up
}
trap leave EXIT
lunatik() {
    local operation=$1
    shift
    "$MOONHOOK" lunatik "$operation" "$@" --root "$WORK/root" --log-folder "${LOGS:-$WORK/logs}"
}
# process NAME: that of the script which is loaded, or runs, under that name.
process() { pgrep -xf "[^ ]*moonhook.* --name $1 .*"; }
begun() { grep -qs '^begun' "$WORK/logs/$1.log"; }

# Load time that would take minutes, in a script with handlers and in one for processes.
cat >"$WORK/root/endless.lua" <<'LUA'
print("begun")
for _ = 1, 1 << 60 do end
LUA
for stop in "$MOONHOOK lunatik stop" "$MOONHOOK stop"; do
    rm -rf "$WORK/logs"
    lunatik spawn endless >"$WORK/spawn.out" 2>"$WORK/spawn.err" &
    PIDS+=($!)
    eventually "the script is being loaded" begun endless
    found=$(process endless)
    fails 3 lunatik spawn endless
    begin_ns=$(date +%s%N)
    $stop endless >"$WORK/stop.out"
    # Who has started it takes its end a moment later.
    ! grep -qs '^State:	[^Z]' "/proc/$found/status" || die "process $found is there still"
    # It is not the limit of instructions that has ended it.
    [ $((($(date +%s%N) - begin_ns) / 1000000)) -lt 10000 ] || die "the stop took too long"
    wait "${PIDS[-1]}" || true
    unset 'PIDS[-1]'
    ! grep -q MH0105 "$WORK/logs/endless.log" || die "$(cat "$WORK/logs/endless.log")"
    [ "$("$MOONHOOK" list --json)" = "[]" ] || die "something runs still"
done
fails 3 "$MOONHOOK" lunatik stop endless

# What `moonhook run` has to be told is said here, too; a name that is taken, and an interface that is missing, are told with what helps here.
cat >"$WORK/root/told.lua" <<'LUA'
local netfilter, nf = require("netfilter"), require("linux.nf")
netfilter.register { hook = function(skb) return nf.action.ACCEPT end, pf = nf.proto.IPV4, hooknum = nf.inet.LOCAL_OUT, priority = 9 }
LUA
IN_NETNS=(nsenter --net="/run/netns/$NETNS")
"${IN_NETNS[@]}" "$MOONHOOK" lunatik run told softirq --root "$WORK/root" --log-folder "$WORK/logs" --at queue --queues 2 --budget 5000 --on-error drop --load-memory 64MiB
grep -q 'LOCAL_OUT 9 runs as NFQUEUE as asked for' "$WORK/logs/told.log" || die "$(cat "$WORK/logs/told.log")"
[ "$("${IN_NETNS[@]}" cat /proc/net/netfilter/nfnetlink_queue | wc -l)" = 2 ] || die "there are not two queues"
fails 3 lunatik run told
grep -q 'MH0803' "$WORK/fails.err" && grep -q 'moonhook stop told' "$WORK/fails.err" || die "$(cat "$WORK/fails.err")"
"$MOONHOOK" lunatik stop told
fails 2 lunatik run told --at moon
echo 'require("xdp").attach(function() return 2 end)' >"$WORK/root/nowhere.lua"
fails 3 lunatik run nowhere
grep -q 'MH0525' "$WORK/fails.err" && grep -q -- '--interface eth0' "$WORK/fails.err" || die "$(cat "$WORK/fails.err")"

# The disk behind the file is full: before the script begins, and while it runs.
mount -t tmpfs -o size=64k none "$WORK/small"
cat >"$WORK/root/loud.lua" <<'LUA'
local thread, linux, socket = require("thread"), require("linux"), require("socket.unix")
local place = require("loud_place")
local server = socket.dgram(place)
server:bind()
local line = ("x"):rep(1000)
return function()
  local count = 0
  while not thread.shouldstop() do
    local asked, text, from = pcall(server.socket.receive, server.socket, 100, require("linux.socket").msg.DONTWAIT, true)
    if asked and from then
      server.socket:send(tostring(count), from)
    else
      count = count + 1
      print(line)
      linux.schedule(2)
    end
  end
end
LUA
echo "return '$WORK/loud.sock'" >"$WORK/root/loud_place.lua"
# lines: how many lines it has printed, which it says itself.
lines() {
    timeout 20 python3 - "$WORK" <<'PYTHON'
import os, socket, sys
here = f"{sys.argv[1]}/ask.sock"
with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as one:
    one.bind(here)
    try:
        one.settimeout(15)
        one.sendto(b"how many", f"{sys.argv[1]}/loud.sock")
        print(one.recv(100).decode())
    finally:
        os.unlink(here)
PYTHON
}
goes_on() { [ "$(lines)" -gt "$1" ]; }
LOGS=$WORK/small/logs
lunatik spawn loud 2>"$WORK/spawn.err"
[ ! -s "$WORK/spawn.err" ] || die "$(cat "$WORK/spawn.err")"
# More lines than the disk has room for.
eventually "the disk is full, and the script goes on" goes_on 200
[ "$(stat -c %s "$LOGS/loud.log")" -le 65536 ] || die "the file is larger than the disk"
"$MOONHOOK" lunatik list | grep -q '^loud ' || die "it is not listed"
"$MOONHOOK" lunatik stop loud
rm "$WORK/loud.sock"
lunatik spawn loud 2>"$WORK/spawn.err"
grep -q "note: there is no room for $LOGS/loud.log" "$WORK/spawn.err" || die "$(cat "$WORK/spawn.err")"
before=$(lines)
eventually "it goes on" goes_on "$before"
"$MOONHOOK" lunatik stop loud
# Handlers of packets and their errors are not in the way of packets either.
cat >"$WORK/root/refuse.lua" <<'LUA'
local netfilter, nf = require("netfilter"), require("linux.nf")
netfilter.register { hook = function(skb)
  local packet = skb:data()
  if packet:getuint8(9) ~= 17 then return nf.action.ACCEPT end
  print(("x"):rep(900))
  return packet:getuint8(23) == 77 and nf.action.DROP or nf.action.ACCEPT
end, pf = nf.proto.IPV4, hooknum = nf.inet.LOCAL_OUT }
LUA
ip netns exec "$NETNS" "$MOONHOOK" lunatik run refuse softirq --root "$WORK/root" --log-folder "$LOGS" 2>"$WORK/spawn.err"
grep -q "note: there is no room" "$WORK/spawn.err" || die "$(cat "$WORK/spawn.err")"
cat >"$WORK/send.py" <<'PYTHON'
import socket, sys

with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as to, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
    to.bind(("127.0.0.1", 78))
    to.settimeout(20)
    for number in range(int(sys.argv[1])):
        try:
            one.sendto(b"refused", ("127.0.0.1", 77))
            if len(sys.argv) == 2:
                sys.exit("it is not refused")
        except PermissionError:
            pass
        one.sendto(b"%d" % number, ("127.0.0.1", 78))
        assert to.recv(10) == b"%d" % number
print("all")
PYTHON
is all ip netns exec "$NETNS" timeout 60 python3 "$WORK/send.py" 300
ip netns exec "$NETNS" "$MOONHOOK" lunatik stop refuse
umount "$WORK/small"
LOGS=''
queues() { ip netns exec "$NETNS" grep -c . /proc/net/netfilter/nfnetlink_queue || true; }

# With `percpu` packets come to handlers in the process by a queue for each processor.
cat >"$WORK/root/marks.lua" <<'LUA'
local netfilter, nf = require("netfilter"), require("linux.nf")
netfilter.register { hook = function() return nf.action.ACCEPT, 1 end, pf = nf.proto.INET, hooknum = nf.inet.LOCAL_OUT }
LUA
for context in softirq percpu; do
    ip netns exec "$NETNS" "$MOONHOOK" lunatik run marks $context --root "$WORK/root" --log-folder "$WORK/logs"
    case $context in percpu) expected=$((2 * $(nproc))) ;; *) expected=2 ;; esac
    is "$expected" queues
    "$MOONHOOK" lunatik stop marks
done

# Handlers in a runtime: `list` shows where they are and what they have decided; each has as many queues as the script, in the script's network namespace.
cat >"$WORK/root/inner.lua" <<'LUA'
local netfilter, nf = require("netfilter"), require("linux.nf")
netfilter.register { hook = function(skb)
  local packet = skb:data()
  if packet:getuint8(9) ~= 17 then return nf.action.ACCEPT end
  if packet:getuint8(23) == 79 then error("no such port") end
  return packet:getuint8(23) == 77 and nf.action.DROP or nf.action.ACCEPT
end, pf = nf.proto.INET, hooknum = nf.inet.LOCAL_OUT, priority = 9 }
LUA
cat >"$WORK/root/outer.lua" <<'LUA'
inner = require("lunatik").runtime("inner", "softirq")
return function()
  while not require("thread").shouldstop() do require("linux").schedule(20) end
end
LUA
for count in 1 3; do
    "$MOONHOOK" run --root "$WORK/root" --control --netns "$NETNS" --queues "$count" "$WORK/root/outer.lua" >"$WORK/run.out" 2>"$WORK/run.err" </dev/null &
    RUN=$!
    eventually "the script answers" eval '"$MOONHOOK" list | grep -q "^outer "'
    is "$((2 * count))" queues
    "$MOONHOOK" list | grep -q 'netfilter ipv4 LOCAL_OUT 9 (NFQUEUE), netfilter ipv6 LOCAL_OUT 9 (NFQUEUE)' || die "$("$MOONHOOK" list)"
    # Who sends is not told of what a queue's handler drops.
    is all ip netns exec "$NETNS" timeout 60 python3 "$WORK/send.py" 10 untold
    ip netns exec "$NETNS" python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", 79))'
    counted() { "$MOONHOOK" list --json | python3 -c 'import json, sys; [one] = json.load(sys.stdin); print(one["packets"] > 20, one["errors"])'; }
    is "True 1" counted
    finish
    grep -q 'DROP 10, ACCEPT [0-9]*, QUEUE 0, errors 1' "$WORK/run.out" || die "$(cat "$WORK/run.out")"
    grep -q 'inner.lua:5: no such port' "$WORK/run.err" || die "$(cat "$WORK/run.err")"
    is 0 queues
done
