#!/usr/bin/env bash
# What a script sends back out of a veth arrives with `--peer` only, which puts a program to the other end, and the command says so without
# one; a program that is there stays; in both forms. Likewise where it redirects to, and of checksums that a host leaves to its card.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin peer
have python3 || skip "python3 is not installed"
have jq || skip "jq is not installed"
veth_pair

cat >"$WORK/echo.lua" <<'LUA'
local xdp, action = require "xdp", require "linux.xdp"
xdp.attach(function(pkt)
  local ip, udp = pkt.ip, pkt.udp
  if udp and udp.dport == 7 then
    pkt.eth.src, pkt.eth.dst = pkt.eth.dst, pkt.eth.src
    ip.src, ip.dst = ip.dst, ip.src
    udp.sport, udp.dport = udp.dport, udp.sport
    pkt:fix_checksums()
    return action.TX
  end
end)
LUA
echo 'require("xdp").attach(function() end)' >"$WORK/pass.lua"

# answers: how many of five datagrams come back.
answers() {
    ip netns exec "$LEFT" python3 -c '
import socket
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
    one.settimeout(0.3)
    there = set()
    # Late ones count, and once any has come all are waited for.
    for number in range(5):
        one.sendto(b"%d" % number, ("192.0.2.2", 7))
        try: there.add(one.recv(10))
        except TimeoutError: pass
    one.settimeout(10)
    while there and len(there) < 5:
        try: there.add(one.recv(10))
        except TimeoutError: break
print(len(there & {b"%d" % number for number in range(5)}))'
}
# at_left: whether the other end has a program.
at_left() { ip -n "$LEFT" -j link show left0 | jq -r '.[0] | has("xdp")'; }

for form in expanded general; do
    attach right0 "$WORK/echo.lua" --netns "$RIGHT" --form "$form" --interval 1
    is 0 answers
    eventually "it is said" grep -qs "sent out of 'right0' does not arrive.*--peer" "$WORK/run.err"
    sleep 1.5
    is 1 grep -c . "$WORK/run.err"
    detach
    attach right0 "$WORK/echo.lua" --netns "$RIGHT" --form "$form" --peer --interval 1
    grep -q "at the other end of right0, left0 in '$LEFT', is an empty program" "$WORK/run.out" || die "$(cat "$WORK/run.out")"
    is true at_left
    is 5 answers
    sleep 1.5
    [ ! -s "$WORK/run.err" ] || die "$(cat "$WORK/run.err")"
    kill -KILL "$RUN"
    detach
    # It goes however the process ends.
    eventually "the program goes" eval '[ "$(at_left)" = false ]'
done

"$MOONHOOK" run left0 "$WORK/pass.lua" --netns "$LEFT" >"$WORK/left.out" 2>&1 </dev/null &
PIDS+=($!)
eventually "the other end has a program" runs pass
attach right0 "$WORK/echo.lua" --netns "$RIGHT" --peer
grep -q "left0 in '$LEFT', is a program already" "$WORK/run.out" || die "$(cat "$WORK/run.out")"
is 5 answers
detach
is true at_left

fails 3 "$MOONHOOK" run lo "$WORK/echo.lua" --netns "$RIGHT" --peer
grep -q "MH0529.*'lo' has no other end" "$WORK/fails.err" || die "$(cat "$WORK/fails.err")"
fails 2 "$MOONHOOK" run right0 "$WORK/echo.lua" --netns "$RIGHT" --peer --pin

# Both ends of one pair, in either mode: the script's own programs are all that it takes.
ip netns exec "$RIGHT" sysctl -q net.ipv6.conf.all.disable_ipv6=1
ip -n "$RIGHT" link add one type veth peer name other
ip -n "$RIGHT" link set one up
ip -n "$RIGHT" link set other up
for mode in native generic; do
    attach one,other "$WORK/echo.lua" --netns "$RIGHT" --peer --mode "$mode"
    is 2 eval 'ip -n "$RIGHT" -d link show type veth | grep -c "prog/xdp"'
    detach
done

# What is redirected to other interfaces is lost likewise; what helps there is another thing.
echo 'require("xdp").attach(function(pkt) return redirect("one") end)' >"$WORK/there.lua"
attach right0 "$WORK/there.lua" --netns "$RIGHT" --interval 1
answers >"$WORK/log"
eventually "it is said" grep -qs "sent out of 'one' does not arrive.*ethtool -K … gro on" "$WORK/run.err"
detach
# The number of an interface says as much where it is in a group of the code; by itself, or in a packet, it is known to packets only.
one=$(ip netns exec "$RIGHT" cat /sys/class/net/one/ifindex)
for form in expanded general; do
    for how in "{group = {$one}}:sent out of 'one' does" "($one):redirected to 'one', 'other' does" \
        "($one + #pkt - #pkt):redirected to 'one', 'other' does"; do
        echo "require('xdp').attach(function(pkt) return redirect${how%%:*} end)" >"$WORK/there.lua"
        attach right0 "$WORK/there.lua" --netns "$RIGHT" --interval 1 --form "$form"
        answers >"$WORK/log"
        eventually "it is said of ${how%%:*}" grep -qs "${how#*:} not arrive.*ethtool -K … gro on" "$WORK/run.err"
        sleep 1.5
        is 1 grep -c . "$WORK/run.err"
        detach
    done
done
# With `--peer` those other ends get a program, too, also of an interface that is made anew while the script runs.
there() { ip -n "$RIGHT" -j link show other | jq -r '.[0] | has("xdp")'; }
echo 'require("xdp").attach(function(pkt) return redirect("one") end)' >"$WORK/there.lua"
attach right0 "$WORK/there.lua" --netns "$RIGHT" --interval 1 --peer
grep -q "at the other end of one, other, is an empty program" "$WORK/run.out" || die "$(cat "$WORK/run.out")"
is true there
ip -n "$RIGHT" link del one
ip -n "$RIGHT" link add one type veth peer name other
ip -n "$RIGHT" link set one up
ip -n "$RIGHT" link set other up
eventually "the new one has a program" eval '[ "$(there)" = true ]'
answers >"$WORK/log"
sleep 0.5
[ ! -s "$WORK/run.err" ] || die "$(cat "$WORK/run.err")"
detach
eventually "the program goes" eval '[ "$(there)" = false ]'

# A host leaves checksums to its network card: what goes back with a part of one is lost. Who computes whole ones is told nothing.
grep -v fix_checksums "$WORK/echo.lua" >"$WORK/parts.lua"
attach right0 "$WORK/parts.lua" --netns "$RIGHT" --peer --interval 60
is 0 answers
eventually "it is said" grep -qs "at the other end of 'right0', TCP and UDP .*fix_checksums.*tx off" "$WORK/run.err"
detach
# That it was said does not keep what is lost otherwise from being said.
{ sed '$d' "$WORK/parts.lua"; echo '  if udp and udp.dport == 8 then return redirect("one") end'; echo 'end)'; } >"$WORK/later.lua"
attach right0 "$WORK/later.lua" --netns "$RIGHT" --interval 1
is 0 answers
eventually "it is said" grep -qs "at the other end of 'right0', TCP and UDP" "$WORK/run.err"
ip netns exec "$LEFT" python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("192.0.2.2", 8))'
eventually "the other is said" grep -qs "sent out of 'one' does not arrive" "$WORK/run.err"
is 2 grep -c . "$WORK/run.err"
detach
ip netns exec "$LEFT" ethtool -K left0 tx off >"$WORK/log"
attach right0 "$WORK/parts.lua" --netns "$RIGHT" --peer --interval 60
is 5 answers
sleep 0.5
[ ! -s "$WORK/run.err" ] || die "$(cat "$WORK/run.err")"
detach
ip netns exec "$LEFT" ethtool -K left0 tx on >"$WORK/log"

# In generic mode it arrives.
attach right0 "$WORK/there.lua" --netns "$RIGHT" --interval 1 --mode generic
answers >"$WORK/log"
sleep 1.5
[ ! -s "$WORK/run.err" ] || die "$(cat "$WORK/run.err")"
detach
echo ok
