#!/usr/bin/env bash
# Scripts of Lunatik that have devices in /dev, ask the kernel by netlink, send frames, and filter packets in a state of their own. Devices are read and
# written by cat and echo, go when the script ends, also behind one that was killed, and are nobody else's meanwhile.
# With MOONHOOK_PEERS, a folder with Lunatik's checkout, its own examples tap, ifquarantine and lldpd, and its tests of netlink, do what they say.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin lunatik_devices
need_bpffs
[ -c /dev/fuse ] || skip "the kernel has no FUSE"
have python3 || skip "python3 is not installed"
have tcpdump || skip "tcpdump is not installed"
namespace NETNS one
namespace PEER two
OWN=mh-test-$$ GATE=mh-gate-$$ DEVICES=()

# Devices that a test which has failed may leave.
leave() {
  local status=$? name
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

# uses NAME: a device of that name is the test's.
uses() {
  [ ! -e "/dev/$1" ] || skip "there is a /dev/$1"
  DEVICES+=("$1")
}

# A pair of interfaces between the two namespaces, with no packets but the test's.
for name in "$NETNS" "$PEER"; do
  nsenter --net="/run/netns/$name" sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
  ip -n "$name" link set lo up
done
ip -n "$NETNS" link add veth0 address 02:00:00:00:00:01 type veth peer name veth1 address 02:00:00:00:00:02 netns "$PEER"
ip -n "$NETNS" addr add 10.77.0.1/24 dev veth0
ip -n "$PEER" addr add 10.77.0.2/24 dev veth1
ip -n "$NETNS" link set veth0 up
ip -n "$PEER" link set veth1 up
ip -n "$NETNS" neigh add 10.77.0.2 lladdr 02:00:00:00:00:02 dev veth0 nud permanent
ip -n "$PEER" neigh add 10.77.0.1 lladdr 02:00:00:00:00:01 dev veth1 nud permanent

# In the network namespace alone: `ip netns exec` has mounts of its own, too.
IN=(nsenter --net="/run/netns/$NETNS")
# How many of so many echo requests are answered.
echoes() { "${IN[@]}" python3 "$REPO/tests/e2e/python/echo.py" "$1" "$2"; }
# What one read of a device gives.
once() { timeout 5 dd "if=/dev/$1" bs=64K count=1 status=none; }

# start SCRIPT FOLDER: runs it in the namespace; RUN and OUT are its process and what it prints.
start() {
  OUT=$WORK/${1##*/}.out
  : >"$OUT"
  "${IN[@]}" "$MOONHOOK" run "$2/$1.lua" --root "$2" --control --name it >"$OUT" 2>&1 &
  RUN=$!
  eventually "$1 runs" grep -q '^running ' "$OUT"
}

# end: stops it, and says so if that takes too long.
end() {
  local begin=$EPOCHREALTIME
  "$MOONHOOK" stop it >/dev/null
  wait "$RUN" || die "it ended with $?: $(cat "$OUT")"
  RUN=''
  local took=$(((${EPOCHREALTIME/./} - ${begin/./}) / 1000))
  [ "$took" -lt 2500 ] || die "the end took $took ms"
}

# LLDP goes on beside all the rest, for its second frame comes after 30 s.
lunatik=${MOONHOOK_PEERS:-}/luainkernel+lunatik
[ -n "${MOONHOOK_PEERS:-}" ] && [ -d "$lunatik" ] || lunatik=''
if [ -n "$lunatik" ]; then
  mkdir "$WORK/theirs"
  cp -r "$lunatik/examples" "$lunatik/tests" "$WORK/theirs"
  if have tshark; then
    show=(tshark -l -a duration:45 -c 2 -i veth1 -f 'ether proto 0x88cc' -T fields
      -e lldp.tlv.system.name -e lldp.port.id -e lldp.time_to_live -e eth.dst)
  else
    show=(timeout 45 tcpdump -l -c 2 -v -e -i veth1 'ether proto 0x88cc')
  fi
  nsenter --net="/run/netns/$PEER" "${show[@]}" >"$WORK/lldp" 2>"$WORK/lldp.err" &
  WATCH=$!
  PIDS+=("$WATCH")
  eventually "LLDP is watched" grep -qsi 'capturing on\|listening on' "$WORK/lldp.err"
  LLDP_BEGIN=$SECONDS
  "${IN[@]}" "$MOONHOOK" run "$WORK/theirs/examples/lldpd.lua" --root "$WORK/theirs" --control --name lldpd >"$WORK/lldpd.out" 2>&1 &
  LLDPD=$!
  PIDS+=("$LLDPD")
fi

mkdir -p "$WORK/root/gate"
uses "$OWN"
uses "$GATE"

# A device that keeps what is written, and says who uses it.
cat >"$WORK/root/keeper.lua" <<LUA
local device, stat = require("device"), require("linux.stat")
local kept, users = "nothing\n", 0
local keeper = { name = "$OWN", mode = stat.IRUSR | stat.IWUSR | stat.IRGRP }
function keeper:open() users = users + 1 end
function keeper:release() users = users - 1 print("users", users) end
function keeper:read(length, offset) return kept:sub(offset + 1, offset + length) end
function keeper:write(text, offset)
  if text == "raise\n" then error("no such text", 0) end
  kept = kept:sub(1, offset) .. text
end
device.new(keeper)
LUA
start keeper "$WORK/root"
[ "$(stat -c '%a %F' "/dev/$OWN")" = '640 regular empty file' ] || die "$(stat "/dev/$OWN")"
[ "$(cat "/dev/$OWN")" = nothing ] || die "nothing is read"
echo one >"/dev/$OWN"
(echo two && echo three) >>"/dev/$OWN"
[ "$(cat "/dev/$OWN" | tr '\n' ' ')" = 'two three ' ] || die "what is kept is $(cat "/dev/$OWN")"
if echo raise 2>/dev/null >"/dev/$OWN"; then die "an error of the script is none for echo"; fi
eventually "the error is told" grep -q "write: no such text" "$OUT"
read -r first <"/dev/$OWN"
[ "$first $(head -n 1 "/dev/$OWN") $(tail -n 1 "/dev/$OWN")" = 'two two three' ] || die "lines are not read"
eventually "all have let go of it" grep -qx "users	0" "$OUT"
# It is nobody else's.
"${IN[@]}" "$MOONHOOK" run "$WORK/root/keeper.lua" --root "$WORK/root" --control --name other >"$WORK/other" 2>&1 && die "it is there twice"
grep -q 'failed to create a new device (-17)' "$WORK/other" || die "$(cat "$WORK/other")"
[ "$(cat "/dev/$OWN" | tail -n 1)" = three ] || die "the refused one has changed it"
end
[ ! -e "/dev/$OWN" ] || die "the device is still there"
# What was killed has left it, dead; whoever makes it again gets it.
start keeper "$WORK/root"
{ kill -KILL "$RUN" && wait "$RUN"; } 2>/dev/null || true
RUN=''
if cat "/dev/$OWN" >/dev/null 2>&1; then die "a dead device is read"; fi
start keeper "$WORK/root"
[ "$(cat "/dev/$OWN")" = nothing ] || die "it is not there again"
# Signals end it as the command does.
kill -TERM "$RUN"
wait "$RUN" || die "it ended with $?"
RUN=''
[ ! -e "/dev/$OWN" ] || die "the device is still there"
! grep -q "/dev/$OWN" /proc/self/mountinfo || die "something is still mounted"

# Code is carried out in the state of a script that has a device and nothing to do, and between its calls while others read on and on. However many calls
# there are, and whatever they take together: none of them is stopped for that.
cat >"$WORK/root/idle.lua" <<LUA
local x, device, last = 5, { name = "$OWN", mode = 438 }, 0
answer = 5
function device:read(length, offset)
  for i = 1, 500000 do last = i end
  return "hello\n"
end
require("device").new(device)
require("notifier").netdevice(function() return 0 end)
LUA
start idle "$WORK/root"
code() { timeout 20 "$MOONHOOK" exec it -e "$1"; }
[ "$(code answer)" = 5 ] || die "the idle state answers $(code answer 2>&1)"
begun=$SECONDS
timeout 16 cat "/dev/$OWN" >/dev/null &
READER=$!
while [ $((SECONDS - begun)) -lt 15 ]; do
  [ "$(code 'answer + 1')" = 6 ] || die "the state that is read answers $(code answer 2>&1)"
  sleep 1
done
wait "$READER" || [ $? = 124 ] || die "reading ended: $(cat "$OUT")"
code 'answer = 7' >/dev/null
[ "$(code answer)" = 7 ] || die "the state has lost its variables"
[ "$(once "$OWN" | head -n 1)" = hello ] || die "the device is not read"
! grep -Eq 'stopped|left|anew' "$OUT" || die "$(cat "$OUT")"
end

# What others call may take longer than code waits.
cat >"$WORK/root/slow.lua" <<LUA
local device, linux = { name = "$OWN", mode = 438 }, require("linux")
function device:read(length, offset)
  if offset > 0 then return "" end
  linux.schedule(4000)
  return "slow\n"
end
require("device").new(device)
LUA
start slow "$WORK/root"
[ "$(code 1)" = 1 ] || die "the idle state answers $(code 1 2>&1)"
cat "/dev/$OWN" >"$WORK/slow.read" &
READER=$!
sleep 0.5
code 2 >"$WORK/slow.code" 2>&1 && die "code runs while a call is at work: $(cat "$WORK/slow.code")"
grep -q MH0705 "$WORK/slow.code" || die "$(cat "$WORK/slow.code")"
wait "$READER"
[ "$(cat "$WORK/slow.read")" = slow ] || die "the call has ended otherwise"
[ "$(code 3)" = 3 ] || die "the state answers $(code 3 2>&1)"
end

# Neither is there anything left of a script that is ended while it makes and removes devices.
cat >"$WORK/root/hasty.lua" <<LUA
local device, name = require "device", "$OWN"
for i = 1, 1e6 do device.new{ name = name .. i }:stop() end
LUA
hasty() {
  "${IN[@]}" "$MOONHOOK" run "$WORK/root/hasty.lua" --root "$WORK/root" --control --name it >"$WORK/hasty" 2>&1 &
  RUN=$!
  eventually "devices are made" sh -c "! kill -0 $RUN 2>/dev/null || grep -qs '/dev/$OWN' /proc/self/mountinfo"
  kill -TERM "$RUN"
  wait "$RUN" || die "it ended with $?: $(cat "$WORK/hasty")"
  RUN=''
  for left in "/dev/$OWN"?*; do
    [ ! -e "$left" ] || { umount -l "$left" 2>/dev/null || true; rm -f "$left"; die "$left is left"; }
  done
}
for _ in {1..12}; do hasty; done

# Nobody waits for ever: neither who reads, nor who stops the script.
cat >"$WORK/root/silent.lua" <<LUA
local socket = require("socket.raw").bind(0x1234)
require("device").new{ name = "$OWN", read = function() return socket:receive(100) end }
LUA
start silent "$WORK/root"
timeout 1 cat "/dev/$OWN" >/dev/null && die "something was read"
cat "/dev/$OWN" >/dev/null 2>"$WORK/cat.err" &
CAT=$!
PIDS+=("$CAT")
sleep 0.3
end
wait "$CAT" && die "who waits is told nothing"
PIDS=("${PIDS[@]/$CAT/}")
grep -q 'No such device' "$WORK/cat.err" || die "$(cat "$WORK/cat.err")"

# A gate: what control code and a handler of netfilter have in common, with a device for it.
cat >"$WORK/root/gate/control.lua" <<LUA
local device, notifier, rcu, runner = require("device"), require("notifier"), require("rcu"), require("lunatik.runner")
local netdev = require("linux.netdev")
local linux = require("linux")
local shut, links = rcu.table(), {}

local handler = runner.run("gate/handler", "softirq")
handler:resume(shut)
device.new{
  name = "$GATE",
  read = function(_, _, offset)
    local lines = {}
    for name, index in pairs(links) do lines[#lines + 1] = name .. (shut[tostring(index)] and " shut" or " open") .. "\n" end
    table.sort(lines)
    return offset == 0 and table.concat(lines) or ""
  end,
  write = function(_, text)
    for name, word in text:gmatch("(%g+) (%g+)") do
      if links[name] then shut[tostring(links[name])] = word == "shut" or nil end
    end
  end,
}
notifier.netdevice(function(event, name)
  if event == netdev.REGISTER then
    links[name] = linux.ifindex(name)
    shut[tostring(links[name])] = true
  elseif event == netdev.UNREGISTER then
    links[name] = nil
  end
end)
LUA
cat >"$WORK/root/gate/handler.lua" <<'LUA'
local netfilter, nf = require("netfilter"), require("linux.nf")
local shut
for _, point in ipairs{ nf.inet.PRE_ROUTING, nf.inet.POST_ROUTING } do
  netfilter.register{ pf = nf.proto.INET, hooknum = point, priority = nf.ip.pri.MANGLE, hook = function(skb)
    local index = skb:ifindex()
    return index and shut[tostring(index)] and nf.action.DROP or nf.action.ACCEPT
  end }
end
return function(given) shut = given end
LUA
# gate NAME SCRIPT WORDS FOLDER: a new link's packets are dropped until its device is told; SHUT and OPEN are what its list says of those, and TO_OPEN
# and TO_SHUT what it is told.
gate() {
  local name=$1
  new_link "$name"
  [ "$(both_echoes)" = '0 0' ] || die "$name: packets pass a new link"
  echo "$TO_OPEN" >"/dev/$name"
  once "$name" | grep -q "^gate0 .*$OPEN" || die "$name: $(once "$name")"
  [ "$(both_echoes)" = '2 2' ] || die "$name: packets do not pass where they may"
  echo "$TO_SHUT" >"/dev/$name"
  [ "$(both_echoes)" = '0 0' ] || die "$name: packets pass again"
  ip -n "$NETNS" link del gate0
  eventually "gate0 is listed no more" bash -c "! timeout 5 dd if=/dev/$name bs=64K count=1 status=none | grep -q gate0"
  end
  [ ! -e "/dev/$name" ] || die "$name is still there"
  [ "$(echoes 10.77.0.2 1)" = 1 ] || die "$name: the handlers are still there"
}
# new_link NAME: gate0, with addresses of both families, which the device lists as shut.
new_link() {
  ip -n "$NETNS" link add gate0 type veth peer name gate1 netns "$PEER"
  eventually "gate0 is listed" bash -c "timeout 5 dd if=/dev/$1 bs=64K count=1 status=none | grep -q '^gate0 .*$SHUT'"
  nsenter --net="/run/netns/$NETNS" sysctl -qw net.ipv6.conf.gate0.disable_ipv6=0
  nsenter --net="/run/netns/$PEER" sysctl -qw net.ipv6.conf.gate1.disable_ipv6=0
  ip -n "$NETNS" addr add 10.78.0.1/24 dev gate0
  ip -n "$PEER" addr add 10.78.0.2/24 dev gate1
  ip -n "$NETNS" addr add fd78::1/64 dev gate0 nodad
  ip -n "$PEER" addr add fd78::2/64 dev gate1 nodad
  ip -n "$NETNS" link set gate0 up
  ip -n "$PEER" link set gate1 up
}
both_echoes() { echo "$(echoes 10.78.0.2 2) $(echoes fd78::2 2)"; }
# left_behind NAME: what is killed shuts nothing any more, and has no queue or device that is answered.
left_behind() {
  new_link "$1"
  [ "$(both_echoes)" = '0 0' ] || die "$1: packets pass a new link"
  { kill -KILL "$RUN" && wait "$RUN"; } 2>/dev/null || true
  RUN=''
  [ "$(both_echoes)" = '2 2' ] || die "$1: packets do not pass although nobody decides"
  ! "${IN[@]}" grep -q . /proc/net/netfilter/nfnetlink_queue || die "$1: a queue is left"
  ! timeout 5 cat "/dev/$1" >/dev/null 2>&1 || die "$1: the device is read"
  ip -n "$NETNS" link del gate0
}
start gate/control "$WORK/root"
SHUT=shut OPEN=open TO_OPEN='gate0 open' TO_SHUT='gate0 shut' gate "$GATE"
start gate/control "$WORK/root"
SHUT=shut left_behind "$GATE"

# Netlink: what `ip` says, too; a route is added and removed.
cat >"$WORK/root/routes.lua" <<'LUA'
local netlink, IPV4 = require("netlink"), require("linux.socket").af.INET
local linux, thread = require("linux"), require("thread")
return function()
  local route <close> = netlink.rt.route()
  local index = linux.ifindex("veth0")
  route:add{ dst = "\10\88\0\0", dst_len = 16, gateway = "\10\77\0\2", oif = index }
  print("added")
  while not thread.shouldstop() do linux.schedule(1000) end
  route:del{ dst = "\10\88\0\0", dst_len = 16 }
  print("removed", pcall(route.del, route, { dst = "\10\88\0\0", dst_len = 16 }))
end
LUA
start routes "$WORK/root"
eventually "the route is added" grep -qx added "$OUT"
ip -n "$NETNS" route show 10.88.0.0/16 | grep -q 'via 10.77.0.2 dev veth0 proto static' || die "$(ip -n "$NETNS" route)"
end
grep -qx 'removed	false	ESRCH' "$OUT" || die "$(cat "$OUT")"
[ -z "$(ip -n "$NETNS" route show 10.88.0.0/16)" ] || die "the route is still there"

[ -n "$lunatik" ] || exit 0

# tap shows the frames that tcpdump does.
uses tap
"${IN[@]}" timeout 20 tcpdump -l -nn -e -i veth0 -c 6 not ether proto 0x88cc >"$WORK/tcpdump" 2>"$WORK/tcpdump.err" &
PIDS+=("$!")
eventually "tcpdump listens" grep -qs 'listening on' "$WORK/tcpdump.err"
start examples/tap "$WORK/theirs"
timeout 10 head -n 6 /dev/tap >"$WORK/tap" &
HEAD=$!
PIDS+=("$HEAD")
[ "$(echoes 10.77.0.2 3)" = 3 ] || die "no echo"
wait "$HEAD" || die "head ended with $?"
eventually "tcpdump has all" bash -c "[ \$(wc -l <$WORK/tcpdump) = 6 ]"
# "T ADDRESS > ADDRESS, ethertype IPv4 (0x0800), length 62: …" as tap writes that: numbers without zeros in front.
tr a-f A-F <"$WORK/tcpdump" | sed -E 's/^\S+ (\S+) > (\S+), \S+ \S+ \(0X?x?([0-9A-F]+)\), \S+ ([0-9]+):.*/\2\t\1\t\3\t\4/' \
  | awk -F'\t' '{ for (i = 1; i < 4; i++) { gsub(":", "", $i); sub("^0+", "", $i) } print $1 "\t" $2 "\t" $3 "\t" $4 }' >"$WORK/expected"
cmp -s "$WORK/expected" "$WORK/tap" || die "tap: $(cat "$WORK/tap"), and not $(cat "$WORK/expected")"
end

uses ifquarantine
start examples/ifquarantine/control "$WORK/theirs"
echo 'allow=veth0' >/dev/ifquarantine
echo 'allow=lo' >/dev/ifquarantine
SHUT=DROP OPEN=ALLOW TO_OPEN='allow=gate0' TO_SHUT='deny=gate0' gate ifquarantine
start examples/ifquarantine/control "$WORK/theirs"
SHUT=DROP left_behind ifquarantine

# Their tests of netlink: each says what it has found.
for test in message:2 session:4 addr_list:2 link_list:2 route_list:0 route_adddel:3 rule_adddel:5 genl_family:4 socket:2; do
  name=${test%:*}
  start "tests/netlink/$name" "$WORK/theirs"
  end
  lines=$(grep -c '^netlink ' "$OUT" || true)
  [ "$lines" -ge "${test#*:}" ] && ! grep -q '\.lua:' "$OUT" || die "$name: $(cat "$OUT")"
done

# The second frame of lldpd.
eventually "LLDP is sent" test -s "$WORK/lldp"
MOONHOOK_PATIENCE=36 eventually "LLDP is sent again" bash -c "! kill -0 $WATCH 2>/dev/null"
[ $((SECONDS - LLDP_BEGIN)) -ge 29 ] || die "LLDP is sent too often: $(cat "$WORK/lldp")"
[ "$(grep -c lunatik-lldpd "$WORK/lldp")" -ge 2 ] || die "LLDP is not understood: $(cat "$WORK/lldp")"
grep -q veth0 "$WORK/lldp" || die "LLDP has no port: $(cat "$WORK/lldp")"
"$MOONHOOK" stop lldpd >/dev/null
wait "$LLDPD" || die "lldpd ended with $?: $(cat "$WORK/lldpd.out")"
grep -q 'worker stopped' "$WORK/lldpd.out" || die "lldpd was not asked to stop: $(cat "$WORK/lldpd.out")"
