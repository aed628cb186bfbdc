#!/usr/bin/env bash
# Scripts for Lunatik whose handlers need more than a program in the kernel has: their packets are handed to this process (NFQUEUE). A router refuses
# a port with a RST of its own making, changes payloads, sets marks, sees the marks of connections; over IPv4 and IPv6, before and after a reload. When the process has been
# killed everything passes. With MOONHOOK_PEERS, a folder with Lunatik's checkout, its own script refuses what is marked.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin lunatik_queue
have python3 || skip "python3 is not installed"
need_bpffs
hosts_and_router

mkdir "$WORK/root"
cat >"$WORK/root/edge.lua" <<'LUA'
local netfilter = require "netfilter"
local byteorder = require "byteorder"
local nf = require "linux.nf"
local ntoh16, hton16, ntoh32, hton32 = byteorder.ntoh16, byteorder.hton16, byteorder.ntoh32, byteorder.hton32
local TCP, UDP = 6, 17
local REFUSED, CHANGED, MARKED = 7001, 7002, 7003

-- The protocol, and where its header begins.
local function transport(packet)
  if packet:getuint8(0) >> 4 == 4 then return packet:getuint8(9), (packet:getuint8(0) & 15) * 4 end
  return packet:getuint8(6), 40
end

local function swap32(packet, a, b)
  local first, second = packet:getuint32(a), packet:getuint32(b)
  packet:setuint32(a, second)
  packet:setuint32(b, first)
end

local function reset(skb)
  local answer = skb:copy()
  local frame, packet = answer:data("mac"), answer:data("net")
  for i = 0, 5 do
    local own = frame:getuint8(i)
    frame:setuint8(i, frame:getuint8(6 + i))
    frame:setuint8(6 + i, own)
  end
  local _, at = transport(packet)
  if packet:getuint8(0) >> 4 == 4 then
    swap32(packet, 12, 16)
    packet:setuint16(2, hton16(at + 20))
  else
    for i = 0, 12, 4 do swap32(packet, 8 + i, 24 + i) end
    packet:setuint16(4, hton16(20))
  end
  local from, to = packet:getuint16(at), packet:getuint16(at + 2)
  packet:setuint16(at, to)
  packet:setuint16(at + 2, from)
  local next = hton32(ntoh32(packet:getuint32(at + 4)) + 1)
  packet:setuint32(at + 4, packet:getuint32(at + 8))
  packet:setuint32(at + 8, next)
  packet:setuint8(at + 12, 0x50)
  packet:setuint8(at + 13, 0x14)
  packet:setuint16(at + 18, 0)
  answer:resize(at + 20)
  answer:checksum()
  answer:forward()
end

local function edge(skb)
  local packet = skb:data("net")
  local protocol, at = transport(packet)
  if protocol ~= TCP and protocol ~= UDP then return nf.action.ACCEPT end
  local port = ntoh16(packet:getuint16(at + 2))
  if protocol == TCP and port == REFUSED then
    reset(skb)
    print("refused on " .. skb:ifindex())
    return nf.action.DROP
  elseif protocol == UDP and port == CHANGED then
    packet:setstring(at + 8, "HELLO")
    skb:checksum()
  elseif protocol == UDP and port == MARKED then
    return nf.action.ACCEPT, 7
  elseif protocol == UDP and port == 7004 then
    error("no such port")
  end
  return nf.action.ACCEPT
end

local function count(skb)
  print("marked: " .. #skb)
  return nf.action.DROP
end

netfilter.register { hook = edge, pf = nf.proto.INET, hooknum = nf.inet.FORWARD, priority = nf.ip.pri.FILTER }
netfilter.register { hook = count, pf = nf.proto.INET, hooknum = nf.inet.POST_ROUTING, priority = nf.ip.pri.FILTER, mark = 7 }
LUA

ip netns exec "$RIGHT" python3 - >"$WORK/server.out" 2>"$WORK/server.err" <<'PYTHON' &
import packets, select, socket

sockets = packets.servers(["192.0.3.1", "2001:db8:3::1"], [7000, 7001, 7002, 7003, 7004, 7005])
while True:
    for one in select.select(sockets, [], [])[0]:
        if one.type == socket.SOCK_DGRAM:
            data, peer = one.recvfrom(65536)
            one.sendto(data, peer)
        else:
            stream, _ = one.accept()
            stream.close()
PYTHON
PIDS+=($!)
eventually "the server listens" grep -qs listening "$WORK/server.out"

# ask: over each family, what becomes of streams to three ports (! refused within 100 ms by exactly one RST that is whole and answers the SYN) and of datagrams to five.
cat >"$WORK/ask.py" <<'PYTHON'
import resets, socket

link = resets.Watched("left0")

def datagram(family, address, port):
    with socket.socket(family, socket.SOCK_DGRAM) as one:
        one.settimeout(0.7)
        one.sendto(b"hello there", (address, port))
        try:
            return {b"hello there": "+", b"HELLO there": "H"}.get(one.recv(100), "?")
        except TimeoutError:
            return "-"

for family, address in ((socket.AF_INET, "192.0.3.1"), (socket.AF_INET6, "2001:db8:3::1")):
    streams = "".join(link.stream(address, port, 2) for port in (7000, 7001, 7005))
    datagrams = "".join(datagram(family, address, port) for port in (7000, 7001, 7002, 7003, 7004))
    print(streams + " " + datagrams, end=" ")
print()
PYTHON
ask() { ip netns exec "$LEFT" timeout 60 python3 "$WORK/ask.py"; }

open='+++ +++++ +++ +++++ '
filtered='+!+ ++H-+ +!+ ++H-+ '
is_open() { [ "$(ask)" = "$open" ]; }
eventually "the hosts reach one another" is_open
"$MOONHOOK" check --no-kernel --root "$WORK/root" "$WORK/root/edge.lua" >"$WORK/check.out"
grep -q 'netfilter ipv4 FORWARD 0 runs as NFQUEUE because .*edge.lua:[0-9]* ' "$WORK/check.out" || die "$(cat "$WORK/check.out")"
grep -q 'netfilter ipv6 POST_ROUTING 0 mark 7' "$WORK/check.out" || die "$(cat "$WORK/check.out")"
attach "$WORK/root/edge.lua" --root "$WORK/root" --netns "$MIDDLE"
eventually "moonhook run listens" test -e "$WORK/run/edge.sock"
is "$filtered" ask
"$MOONHOOK" reload edge >/dev/null
is "$filtered" ask
eventually "prints are shown" grep -q '^refused on [0-9]' "$WORK/run.out"
eventually "the mark is seen" grep -q '^marked: ' "$WORK/run.out"
eventually "the error is told" grep -q 'edge.lua:65: no such port' "$WORK/run.err"
finish
grep -q 'netfilter.queue ACCEPT [1-9]' "$WORK/run.out" || die "$(tail -n 3 "$WORK/run.out")"
is "$open" ask

# All handlers in the process, if a person wants it so; and what is left when that is killed.
attach "$WORK/root/edge.lua" --root "$WORK/root" --netns "$MIDDLE" --at queue
is "$filtered" ask
kill -KILL "$RUN"
wait "$RUN" 2>/dev/null || true
RUN=''
is "$open" ask
! ip netns exec "$MIDDLE" cat /proc/net/netfilter/nfnetlink_queue | grep . || die "a queue is left"

# The same by several queues of each place, which all go.
attach "$WORK/root/edge.lua" --root "$WORK/root" --netns "$MIDDLE" --at queue --queues 3
[ "$(ip netns exec "$MIDDLE" grep -c . /proc/net/netfilter/nfnetlink_queue)" = 12 ] || die "$(ip netns exec "$MIDDLE" cat /proc/net/netfilter/nfnetlink_queue)"
is "$filtered" ask
finish
grep -q 'ACCEPT [1-9]' "$WORK/run.out" || die "$(tail -n 3 "$WORK/run.out")"
is "$open" ask
! ip netns exec "$MIDDLE" cat /proc/net/netfilter/nfnetlink_queue | grep . || die "a queue is left"
fails 2 "$MOONHOOK" run "$WORK/root/edge.lua" --root "$WORK/root" --queues 0

# Nobody reads what is printed: packets do not wait for that, and what is lost is counted.
cat >"$WORK/root/loud.lua" <<'LUA'
local netfilter, nf = require "netfilter", require "linux.nf"
local text = string.rep("x", 500)
netfilter.register { hook = function(skb)
  print(text)
  return nf.action.ACCEPT
end, pf = nf.proto.IPV4, hooknum = nf.inet.FORWARD }
LUA
mkfifo "$WORK/unread"
exec 9<>"$WORK/unread"
"$MOONHOOK" run "$WORK/root/loud.lua" --root "$WORK/root" --netns "$MIDDLE" --at queue >"$WORK/unread" 2>"$WORK/run.err" &
RUN=$!
eventually "the packets are queued" ip netns exec "$MIDDLE" grep -q . /proc/net/netfilter/nfnetlink_queue
cat >"$WORK/many.py" <<'PYTHON'
import socket, time

slow = 0
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
    # Who waits for a reader waits for ever.
    one.settimeout(30)
    one.connect(("192.0.3.1", 7000))
    for number in range(20000):
        begin = time.monotonic()
        one.send(b"%d" % number)
        one.recv(100)
        slow += time.monotonic() - begin > 0.1
# On a busy machine some may have waited for the processor. Who waited for a reader, for a while only, would do so with each print from the one on that found no room: nearly all.
print("all at once" if slow <= 2000 else f"{slow} of them slowly")
PYTHON
is 'all at once' ip netns exec "$LEFT" timeout 300 python3 "$WORK/many.py"
cat <&9 >"$WORK/read.out" &
PIDS+=($!)
finish
exec 9>&-
# Of each datagram and of its answer, the print has been shown or counted as lost.
eventually "the last line of counters is shown" grep -q "ACCEPT 40000,.*lost events" "$WORK/read.out"
shown=$(grep -c '^x\{500\}$' "$WORK/read.out")
lost=$(sed -n 's/.*ACCEPT 40000,.* lost events \([0-9]*\)$/\1/p' "$WORK/read.out" | tail -n 1)
[ $((shown + lost)) = 40000 ] && [ "$lost" -gt 0 ] || die "$shown shown, $lost lost"

if [ -d "${MOONHOOK_PEERS:-}/luainkernel+lunatik" ] && have iptables; then
    root="$MOONHOOK_PEERS/luainkernel+lunatik"
    for command in iptables ip6tables; do
        ip netns exec "$MIDDLE" $command -t mangle -A PREROUTING -p tcp --dport 7005 -j MARK --set-mark 0x403
    done
    is "$open" ask
    attach "$root/examples/tcpreject/nf_tcpreject.lua" --root "$root" --netns "$MIDDLE"
    is '++! +++++ ++! +++++ ' ask
    finish
    is "$open" ask
fi
