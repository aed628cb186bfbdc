#!/usr/bin/env bash
# A script for Lunatik that answers connections to a port with a RST of its own making, out of a copy of the packet: its handlers run in the kernel, at a router, and the process
# sends the copies. Over IPv4 and IPv6, in both forms, before and after a reload, and in a queue: one whole RST comes back, at once. Without the process none come, and the verdicts of a
# pinned script stay. A packet that this host sends has no interface, one that leaves it has. Copies that are too long are counted.
# With MOONHOOK_PEERS, a folder with Lunatik's checkout, its own script refuses what is marked.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin lunatik_copies
have python3 || skip "python3 is not installed"
need_bpffs
hosts_and_router

mkdir "$WORK/root"
cat >"$WORK/root/refuse.lua" <<'LUA'
local netfilter, byteorder, nf = require "netfilter", require "byteorder", require "linux.nf"
local ntoh16, hton16, ntoh32, hton32 = byteorder.ntoh16, byteorder.hton16, byteorder.ntoh32, byteorder.hton32
local TCP <const>, REFUSED <const>, RST_ACK <const> = 6, 7001, 0x14

local function exchange(bytes, a, b, length)
  local first = bytes:getstring(a, length)
  bytes:setstring(a, bytes:getstring(b, length))
  bytes:setstring(b, first)
end

-- Answers a segment whose header is at an offset.
local function answer(frame, packet, at)
  exchange(frame, 0, 6, 6)
  if packet:getuint8(0) >> 4 == 4 then
    exchange(packet, 12, 16, 4)
    packet:setuint16(2, hton16(at + 20))
  else
    exchange(packet, 8, 24, 16)
    packet:setuint16(4, hton16(20))
  end
  exchange(packet, at, at + 2, 2)
  local after = ntoh32(packet:getuint32(at + 4)) + 1
  packet:setuint32(at + 4, packet:getuint32(at + 8))
  packet:setuint32(at + 8, hton32(after))
  packet:setuint8(at + 12, 0x50)
  packet:setuint8(at + 13, RST_ACK)
  packet:setuint16(at + 18, 0)
end

local function refuse(skb)
  local packet = skb:data()
  local at, protocol = 40, packet:getuint8(6)
  if packet:getuint8(0) >> 4 == 4 then at, protocol = (packet:getuint8(0) & 15) * 4, packet:getuint8(9) end
  if protocol ~= TCP or ntoh16(packet:getuint16(at + 2)) ~= REFUSED then return nf.action.ACCEPT end
  local copy = skb:copy()
  answer(copy:data("mac"), copy:data("net"), at)
  copy:resize(at + 20)
  copy:checksum()
  copy:forward()
  return nf.action.DROP
end

netfilter.register { hook = refuse, pf = nf.proto.INET, hooknum = nf.inet.FORWARD, priority = nf.ip.pri.FILTER }
LUA

ip netns exec "$RIGHT" python3 - >"$WORK/server.out" 2>"$WORK/server.err" <<'PYTHON' &
import packets, select, socket

sockets = packets.servers(["192.0.3.1", "2001:db8:3::1"], [7000, 7001, 7005])
while True:
    for one in select.select(sockets, [], [])[0]:
        if one.type == socket.SOCK_DGRAM:
            one.recvfrom(65536)
        else:
            stream, peer = one.accept()
            print("from", peer[0], flush=True)
            stream.close()
PYTHON
PIDS+=($!)
eventually "the server listens" grep -qs listening "$WORK/server.out"

# ask: over each family, what becomes of streams to three ports: + accepted, ! refused within 100 ms by exactly one RST that is whole and answers the SYN, - nothing.
cat >"$WORK/ask.py" <<'PYTHON'
import resets

link = resets.Watched("left0")
print(" ".join("".join(link.stream(address, port, 0.8) for port in (7000, 7001, 7005))
               for address in ("192.0.3.1", "2001:db8:3::1")))
PYTHON
ask() { ip netns exec "$LEFT" timeout 60 python3 "$WORK/ask.py"; }
killed() {
    kill -KILL "$RUN"
    wait "$RUN" 2>/dev/null || true
    RUN=''
}

is_open() { [ "$(ask)" = "+++ +++" ]; }
eventually "the hosts reach one another" is_open
"$MOONHOOK" check --no-kernel --root "$WORK/root" "$WORK/root/refuse.lua" >"$WORK/check.out"
for family in ipv4 ipv6; do
    grep -q "netfilter $family FORWARD 0 runs in the kernel, and the process sends the copies that .*refuse.lua:[0-9]* forwards" "$WORK/check.out" ||
        die "$(cat "$WORK/check.out")"
done
for form in expanded general; do
    attach "$WORK/root/refuse.lua" --root "$WORK/root" --netns "$MIDDLE" --form "$form"
    eventually "moonhook run listens" test -e "$WORK/run/refuse.sock"
    grep -q 'the process sends the copies' "$WORK/run.out" || die "$(cat "$WORK/run.out")"
    ! ip netns exec "$MIDDLE" grep -q . /proc/net/netfilter/nfnetlink_queue || die "there is a queue"
    is "+!+ +!+" ask
    "$MOONHOOK" reload refuse >/dev/null
    is "+!+ +!+" ask
    finish
    grep -q 'errors 0, lost events 0' "$WORK/run.out" || die "$(tail -n 2 "$WORK/run.out")"
    is "+++ +++" ask
done

# In a queue it is the same.
attach "$WORK/root/refuse.lua" --root "$WORK/root" --netns "$MIDDLE" --at queue
is "+!+ +!+" ask
finish

# What is killed sends nothing, and what is pinned goes on with its verdicts.
attach "$WORK/root/refuse.lua" --root "$WORK/root" --netns "$MIDDLE"
killed
is "+++ +++" ask
attach "$WORK/root/refuse.lua" --root "$WORK/root" --netns "$MIDDLE" --pin --bpffs "$BPFFS"
eventually "moonhook run listens" test -e "$WORK/run/refuse.sock"
is "+!+ +!+" ask
killed
is "+-+ +-+" ask
"$MOONHOOK" stop refuse --bpffs "$BPFFS" >/dev/null
is "+++ +++" ask

# What no program can be made of goes by the queue, and the line says why.
cat >"$WORK/root/routine.lua" <<'LUA'
local netfilter, nf = require "netfilter", require "linux.nf"
netfilter.register { hook = function(skb)
  local copy = skb:copy()
  local passed = load("return ...")(#copy)
  copy:resize(passed)
  copy:forward()
  return nf.action.DROP
end, pf = nf.proto.IPV4, hooknum = nf.inet.LOCAL_IN, mark = 9 }
LUA
attach "$WORK/root/routine.lua" --root "$WORK/root" --netns "$MIDDLE"
grep -q 'runs as NFQUEUE because .*routine.lua:3 copies the packet, and no program does it here: .*`load`' "$WORK/run.out" || die "$(cat "$WORK/run.out")"
finish

# The interface is skb->dev: none yet of what this host sends. A copy of a long packet is not sent whole, and that is counted.
cat >"$WORK/root/devices.lua" <<'LUA'
local netfilter, nf = require "netfilter", require "linux.nf"
local function tell(point)
  return function(skb)
    local packet = skb:data()
    if packet:getuint8(9) == 17 then print(point, skb:ifindex(), skb:copy():ifindex(), pcall(function() skb:copy():forward() end)) end
    return nf.action.ACCEPT
  end
end
for _, point in ipairs { "LOCAL_OUT", "LOCAL_IN" } do
  netfilter.register { hook = tell(point), pf = nf.proto.IPV4, hooknum = nf.inet[point] }
end
LUA
attach "$WORK/root/devices.lua" --root "$WORK/root" --netns "$MIDDLE" --at link
ip -n "$MIDDLE" link set lo up
ip netns exec "$MIDDLE" python3 -c '
import socket
one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
one.sendto(bytes(20000), ("127.0.0.1", 7000))'
eventually "the packet has come in" grep -q '^LOCAL_IN' "$WORK/run.out"
grep -q "^LOCAL_OUT	nil	nil	false	.*calling 'forward' on bad self (skb has no device)" "$WORK/run.out" || die "$(cat "$WORK/run.out")"
grep -q "^LOCAL_IN	1	1	true" "$WORK/run.out" || die "$(cat "$WORK/run.out")"
finish
grep -q 'lost events 1' "$WORK/run.out" || die "$(tail -n 2 "$WORK/run.out")"

# What is marked by a rule of nft is refused; curl sees that at once, and others go on behind the router's own address.
if [ -d "${MOONHOOK_PEERS:-}/luainkernel+lunatik" ] && have nft && have curl; then
    root="$MOONHOOK_PEERS/luainkernel+lunatik"
    ip netns exec "$MIDDLE" nft -f - <<'NFT'
table inet edge {
    chain marks { type filter hook prerouting priority mangle; tcp dport 7005 meta mark set 0x403; }
    chain hides { type nat hook postrouting priority srcnat; oifname "port2" masquerade; }
}
NFT
    # curls PORT: over both families, whether curl is refused (7), and not after more than 100 ms, or connected (the server closes at once: 52, 56).
    curls() {
        local address
        for address in 192.0.3.1 '[2001:db8:3::1]'; do
            ip netns exec "$LEFT" curl -sg --max-time 3 -o "$WORK/page" -w '%{exitcode} %{time_total}\n' "http://$address:$1/" || true
        done | awk '{ end = ($1 == 7) ? "refused" : ($1 ~ /^5[26]$/) ? "connected" : $1; late = ($1 == 7 && $2 >= 0.1) ? " late" : ""; printf "%s%s ", end, late }'
    }
    at_once() { [ "$(curls 7005)" = 'refused refused ' ]; }
    is "+++ +++" ask
    is 'connected connected ' curls 7005
    attach "$root/examples/tcpreject/nf_tcpreject.lua" --root "$root" --netns "$MIDDLE"
    ! ip netns exec "$MIDDLE" grep -q . /proc/net/netfilter/nfnetlink_queue || die "there is a queue"
    is "++! ++!" ask
    eventually "curl is refused within 100 ms" at_once
    earlier=$(wc -l <"$WORK/server.out")
    is 'connected connected ' curls 7000
    is 'from 192.0.3.254 from 2001:db8:3::fe' eval 'tail -n "+$((earlier + 1))" "$WORK/server.out" | sort -u | xargs'
    killed
    is "+++ +++" ask
    is 'connected connected ' curls 7005
fi
