#!/usr/bin/env bash
# Handlers at netfilter's points, over IPv4 and IPv6, in both forms: what is dropped does not arrive, a sender is told, a priority that
# is taken is not, and nothing stays. Handlers see marks and interfaces, and are asked about packets with their mark.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin netfilter
have python3 || skip "python3 is not installed"
have jq || skip "jq is not installed"
namespace NETNS one
need_bpffs
ip -n "$NETNS" link set lo up

cat >"$WORK/guard.lua" <<'LUA'
local netfilter = require "netfilter"
local nf = require "linux.nf"
local counts = map { key = "string:16", value = "int", capacity = 16 }
local function refuse(point, port)
  return function(pkt)
    if pkt.udp and pkt.udp.dport == port and pkt.payload:find("secret", 1, true) then
      counts[point] = (counts[point] or 0) + 1
      return nf.action.DROP
    end
  end
end
netfilter.register { pf = nf.proto.INET, hooknum = nf.inet.LOCAL_OUT, priority = nf.ip.pri.FILTER, hook = refuse("out", 7001) }
netfilter.register { pf = nf.proto.INET, hooknum = nf.inet.LOCAL_IN, priority = nf.ip.pri.FILTER, hook = refuse("in", 7002) }
LUA

# ask: for each family and port, what becomes of two datagrams, the second of which is not to pass: + arrived, - lost, ! refused.
cat >"$WORK/ask.py" <<'PYTHON'
import socket

found = ""
for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
    for port in (7001, 7002, 7003):
        with socket.socket(family, socket.SOCK_DGRAM) as server, socket.socket(family, socket.SOCK_DGRAM) as client:
            server.bind((address, port))
            server.settimeout(0.5)
            for text in (b"open", b"x" * 700 + b"secret"):
                try:
                    client.sendto(text, (address, port))
                except PermissionError:
                    found += "!"
                    continue
                try:
                    found += "+" if server.recv(2000) == text else "?"
                except TimeoutError:
                    found += "-"
print(found)
PYTHON
reloads() { "$MOONHOOK" reload guard >/dev/null 2>&1; }
ask() { ip netns exec "$NETNS" timeout 30 python3 "$WORK/ask.py"; }
count() { "$MOONHOOK" table guard counts get "$1"; }

is ++++++++++++ ask
for form in auto general; do
    attach "$WORK/guard.lua" --netns "$NETNS" --form "$form"
    eventually "moonhook run listens" test -e "$WORK/run/guard.sock"
    is '+!+-+++!+-++' ask
    is 2 count out
    is 2 count in
    # A reload, twice: the new programs are there before the old ones go.
    for reload in 1 2; do
        "$MOONHOOK" reload guard >/dev/null
        is '+!+-+++!+-++' ask
        is $((2 + 2 * reload)) count out
    done
    # Another script takes the next priority.
    sed 's/7001/7003/; s/7002/7004/' "$WORK/guard.lua" >"$WORK/other.lua"
    rm -f "$WORK/other.out"
    "$MOONHOOK" run "$WORK/other.lua" --netns "$NETNS" --duration 60 >"$WORK/other.out" 2>&1 </dev/null &
    OTHER=$!
    PIDS+=("$OTHER")
    eventually "the other script attaches" grep -qs '^attached' "$WORK/other.out"
    is '+!+-+!+!+-+!' ask
    end_processes "$OTHER" "$RUN"
    RUN=''
    is ++++++++++++ ask
    # Pinned, it outlives its process, is taken over, and goes when it is stopped.
    for turn in 1 2; do
        attach "$WORK/guard.lua" --netns "$NETNS" --form "$form" --pin --bpffs "$BPFFS"
        eventually "moonhook run reloads" reloads
        kill -KILL "$RUN"
        wait "$RUN" || true
        RUN=''
        is '+!+-+++!+-++' ask
    done
    "$MOONHOOK" stop guard --bpffs "$BPFFS" >/dev/null
    is ++++++++++++ ask
done

cat >"$WORK/marks.lua" <<'LUA'
local netfilter, nf = require "netfilter", require "linux.nf"
asked = {}
local function at(priority, mark, name)
  local function note(pkt)
    if pkt.udp and pkt.udp.dport == 7005 then
      local key = string.format("%s %d %d %d", name, pkt.mark, pkt.priority, pkt.ifindex)
      asked[key] = (asked[key] or 0) + 1
    end
  end
  netfilter.register { pf = nf.proto.INET, hooknum = nf.inet.LOCAL_OUT, priority = priority, mark = mark, hook = note }
end
at(11, nil, "none")
at(12, 7, "seven")
at(13, 0xffffffff, "bits")
at(14, "any", "any")
LUA
cat >"$WORK/send.py" <<'PYTHON'
import socket

for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
    for mark in (0, 7, 8, 0xffffffff):
        with socket.socket(family, socket.SOCK_DGRAM) as client:
            client.setsockopt(socket.SOL_SOCKET, 36, mark.to_bytes(4, "little"))  # SO_MARK
            client.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, 5)
            client.sendto(b"x", (address, 7005))
PYTHON
asked() { "$MOONHOOK" table marks asked dump | tr -d '"' | sed 's/\t/: /' | sort | tr '\n' ,; }
for form in expanded general; do
    attach "$WORK/marks.lua" --netns "$NETNS" --form "$form"
    grep -q 'LOCAL_OUT 12 mark 7.*LOCAL_OUT 14 any mark' "$WORK/run.out" || die "$(cat "$WORK/run.out")"
    ip netns exec "$NETNS" python3 "$WORK/send.py"
    is 'any 0 5 1: 2,any 4294967295 5 1: 2,any 7 5 1: 2,any 8 5 1: 2,bits 4294967295 5 1: 2,none 0 5 1: 2,seven 7 5 1: 2,' asked
    # The place is listed that was free.
    sed -n '1p' "$WORK/marks.lua" >"$WORK/late.lua"
    echo 'netfilter.register { pf = nf.proto.IPV4, hooknum = nf.inet.LOCAL_OUT, priority = 11, hook = function() end }' >>"$WORK/late.lua"
    "$MOONHOOK" run "$WORK/late.lua" --netns "$NETNS" >"$WORK/late.out" 2>&1 </dev/null &
    PIDS+=($!)
    eventually "the other is attached" runs late
    is "netfilter ipv4 LOCAL_OUT 15" eval '"$MOONHOOK" list --json | jq -r ".[] | select(.name == \"late\").hook"'
    "$MOONHOOK" stop late >/dev/null
    "$MOONHOOK" reload marks >/dev/null
    ip netns exec "$NETNS" python3 "$WORK/send.py"
    is 'any 0 5 1: 4,any 4294967295 5 1: 4,any 7 5 1: 4,any 8 5 1: 4,bits 4294967295 5 1: 4,none 0 5 1: 4,seven 7 5 1: 4,' asked
    detach
done
