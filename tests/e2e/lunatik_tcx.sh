#!/usr/bin/env bash
# Handlers of netfilter at tc (--at tcx): on a router they change payloads and repair checksums, set marks that a rule of ip sees, set marks of
# connections, drop, and fail, over IPv4 and IPv6, before and after a reload. When the process ends, or is killed, nothing of them is left.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin lunatik_tcx
have python3 || skip "python3 is not installed"
need_bpffs
hosts_and_router
for family in -4 -6; do
    ip "$family" -n "$MIDDLE" rule add fwmark 7 prohibit
done

mkdir "$WORK/root"
cat >"$WORK/root/edge.lua" <<'LUA'
local netfilter = require "netfilter"
local nf = require "linux.nf"
local ntoh16 = require("byteorder").ntoh16
local UDP = 17

-- Where the header of UDP begins, and the port that a datagram is for.
local function datagram(packet)
  local at = 40
  local protocol = packet:getuint8(6)
  if packet:getuint8(0) >> 4 == 4 then
    at, protocol = (packet:getuint8(0) & 15) * 4, packet:getuint8(9)
  end
  if protocol == UDP then return at, ntoh16(packet:getuint16(at + 2)) end
end

local function enters(skb)
  local packet = skb:data("net")
  local at, port = datagram(packet)
  if port == 7002 then
    packet:setstring(at + 8, "HELLO")
    skb:checksum()
  elseif port == 7003 then
    return nf.action.ACCEPT, 7
  elseif port == 7004 then
    error("no such port")
  elseif port == 7005 then
    return nf.action.DROP
  elseif port == 7006 then
    return nf.action.ACCEPT, 9
  end
  return nf.action.ACCEPT
end

local function leaves(skb)
  local at, port = datagram(skb:data())
  if port ~= 7006 then return nf.action.ACCEPT end
  local frame = skb:data("mac")
  frame:setstring(14 + at + 8, "HOWDY")
  skb:checksum()
  print("marked on " .. skb:ifindex())
  return nf.action.ACCEPT
end

netfilter.register { hook = enters, pf = nf.proto.INET, hooknum = nf.inet.PRE_ROUTING, priority = nf.ip.pri.MANGLE }
netfilter.register { hook = leaves, pf = nf.proto.INET, hooknum = nf.inet.POST_ROUTING, priority = nf.ip.pri.MANGLE, mark = 9 }
LUA

ip netns exec "$RIGHT" python3 - >"$WORK/server.out" 2>"$WORK/server.err" <<'PYTHON' &
import packets, select, socket

sockets = packets.servers(["192.0.3.1", "2001:db8:3::1"], [7000, 7002, 7003, 7004, 7005, 7006, 7007])
while True:
    for one in select.select(sockets, [], [])[0]:
        if one.type == socket.SOCK_DGRAM:
            data, peer = one.recvfrom(65536)
            one.sendto(data, peer)
        else:
            stream, _ = one.accept()
            stream.sendall(b"z" * 1000000)
            stream.close()
PYTHON
PIDS+=($!)
eventually "the server listens" grep -qs listening "$WORK/server.out"

# ask: over each family, what becomes of a stream of a megabyte, and of datagrams to six ports, short and long ones.
cat >"$WORK/ask.py" <<'PYTHON'
import socket

def stream(address):
    with socket.create_connection((address, 7000), timeout=5) as one:
        count = 0
        while data := one.recv(65536):
            count += len(data)
    return "+" if count == 1000000 else "?"

def datagram(family, address, port):
    with socket.socket(family, socket.SOCK_DGRAM) as one:
        one.settimeout(0.5)
        said = ""
        for rest in (b" there", b" again" * 200 + b"!"):
            try:
                one.sendto(b"hello" + rest, (address, port))
                heard = one.recv(10000)
            except OSError:
                said += "-"
                continue
            said += {b"hello": "+", b"HELLO": "H", b"HOWDY": "W"}[heard[:5]] if heard[5:] == rest else "?"
    return said

for family, address in ((socket.AF_INET, "192.0.3.1"), (socket.AF_INET6, "2001:db8:3::1")):
    ports = (7000, 7002, 7003, 7004, 7005, 7006)
    print(stream(address), *(datagram(family, address, port) for port in ports), end=" ")
print()
PYTHON
ask() { ip netns exec "$LEFT" timeout 60 python3 "$WORK/ask.py"; }

open='+ ++ ++ ++ ++ ++ ++ + ++ ++ ++ ++ ++ ++ '
changed='+ ++ HH -- ++ -- WW + ++ HH -- ++ -- WW '
is_open() { [ "$(ask)" = "$open" ]; }
eventually "the hosts reach one another" is_open

"$MOONHOOK" check --no-kernel --root "$WORK/root" --at tcx "$WORK/root/edge.lua" >"$WORK/check.out"
for line in 'ipv4 PRE_ROUTING -150 runs at tc.ingress' 'ipv6 POST_ROUTING -150 mark 9 runs at tc.egress'; do
    grep -q "netfilter $line as asked for" "$WORK/check.out" || die "$(cat "$WORK/check.out")"
done
# Objects for other loaders, too.
for form in expanded general; do
    "$MOONHOOK" build --root "$WORK/root" --at tcx --form $form "$WORK/root/edge.lua" -o "$WORK/edge.o" >"$WORK/build.out" 2>"$WORK/build.err" || die "$(cat "$WORK/build.err")"
    grep -q 'netfilter ipv4 PRE_ROUTING -150 runs at tc.ingress' "$WORK/build.out" || die "$(cat "$WORK/build.out")"
    have bpftool || continue
    bpftool prog loadall "$WORK/edge.o" "$BPFFS" type classifier >"$WORK/loader.log" 2>&1 || die "$(tail -n 5 "$WORK/loader.log")"
    [ "$(find "$BPFFS" -type f | wc -l)" = 2 ] || die "the programs are $(ls "$BPFFS")"
    rm -r "$BPFFS"
done
fails 2 "$MOONHOOK" build --at tcx "$WORK/root/edge.lua" -o "$WORK/edge.o"
fails 3 "$MOONHOOK" run "$WORK/root/edge.lua" --root "$WORK/root" --netns "$MIDDLE" --at tcx
grep -q 'moonhook run eth0 script.lua' "$WORK/fails.err" || die "$(cat "$WORK/fails.err")"

for form in expanded general; do
    attach port1,port2 "$WORK/root/edge.lua" --root "$WORK/root" --netns "$MIDDLE" --at tcx --form "$form"
    grep -q 'netfilter ipv6 PRE_ROUTING -150 runs at tc.ingress as asked for' "$WORK/run.out" || die "$(cat "$WORK/run.out")"
    is "$changed" ask
    if [ "$form" = expanded ]; then
        "$MOONHOOK" reload edge >/dev/null
        is "$changed" ask
        eventually "prints are shown" grep -q '^marked on [0-9]' "$WORK/run.out"
        eventually "the error is told" grep -q 'edge.lua:25: no such port' "$WORK/run.err"
    fi
    finish
    is "$open" ask
done
errors=$(ip netns exec "$RIGHT" python3 -c '
words = [line.split() for line in open("/proc/net/snmp") if line.startswith("Udp:")]
six = dict(line.split() for line in open("/proc/net/snmp6"))
print(dict(zip(*words))["InCsumErrors"], six["Udp6InCsumErrors"])')
[ "$errors" = '0 0' ] || die "checksums were wrong: $errors"

attach port1,port2 "$WORK/root/edge.lua" --root "$WORK/root" --netns "$MIDDLE" --at tcx
kill -KILL "$RUN"
wait "$RUN" 2>/dev/null || true
RUN=''
is "$open" ask

# Tags that the kernel keeps beside the packet: of a frame with the tag 5, without one, and with no more than a priority.
cat >"$WORK/root/tags.lua" <<'LUA'
local netfilter, nf = require "netfilter", require "linux.nf"
netfilter.register { hook = function(skb)
  local packet = skb:data()
  if packet:getuint8(9) == 17 and packet:getuint8(23) == 77 then print("tag", skb:vlan(), #skb) end
  return nf.action.ACCEPT
end, pf = nf.proto.IPV4, hooknum = nf.inet.PRE_ROUTING }
LUA
for form in expanded general; do
    attach port1 "$WORK/root/tags.lua" --root "$WORK/root" --netns "$MIDDLE" --at tcx --form "$form"
    ip netns exec "$LEFT" python3 -c '
import socket
link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
link.bind(("left0", 0))
addresses = b"\xff" * 6 + b"\2\0\0\0\0\1"
datagram = b"\x45\0\0\x1c\0\0\0\0\x40\x11\0\0\x0a\x50\0\1\x0a\x50\0\2" + b"\x80\0\0\x4d\0\x08\0\0"
for tag in (b"\x81\0\0\5", b"", b"\x81\0\x60\0"):
    link.send(addresses + tag + b"\x08\0" + datagram)'
    eventually "all are seen" eval '[ "$(grep -c ^tag "$WORK/run.out")" = 3 ]'
    is $'tag\t5\t28\ntag\tnil\t28\ntag\t0\t28' grep ^tag "$WORK/run.out"
    finish
done

# Marks of connections: an answer gives its connection one, and what follows has it.
if have iptables && ip netns exec "$MIDDLE" iptables -A FORWARD -m conntrack --ctstate INVALID -j DROP 2>"$WORK/log"; then
    cat >"$WORK/root/connections.lua" <<'LUA'
local netfilter, nf = require "netfilter", require "linux.nf"
local port = require("byteorder").hton16(7007)
netfilter.register { hook = function(skb)
  local packet = skb:data()
  if packet:getuint8(9) ~= 17 then return nf.action.ACCEPT end
  if packet:getuint16(20) == port then skb:connmark(0x100000005) end
  if packet:getuint16(22) == port then print("mark", skb:connmark()) end
  return nf.action.ACCEPT
end, pf = nf.proto.IPV4, hooknum = nf.inet.PRE_ROUTING }
LUA
    attach port1,port2 "$WORK/root/connections.lua" --root "$WORK/root" --netns "$MIDDLE" --at tcx
    ip netns exec "$LEFT" python3 -c '
import socket
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
    one.settimeout(5)
    for _ in range(2):
        one.sendto(b"x", ("192.0.3.1", 7007))
        one.recv(10)'
    eventually "the connection has the mark" grep -q '^mark	5$' "$WORK/run.out"
    grep -q '^mark	nil$' "$WORK/run.out" || die "$(cat "$WORK/run.out")"
    finish
fi
