#!/usr/bin/env bash
# Connections that the processes of a control group begin: refused, sent elsewhere, or left alone, over IPv4 and IPv6, by TCP and UDP, in both
# forms; those of other processes are not asked about.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin connect
have python3 || skip "python3 is not installed"
need_cgroup
need_bpffs
namespace NETNS one
ip -n "$NETNS" link set lo up

cat >"$WORK/policy.lua" <<LUA
local cgroup = require "cgroup"
local DROP = require("linux.cgroup").DROP
local asked = map { key = "string:64", value = "int", capacity = 64 }
local moved = { [7003] = 7001 }
cgroup.connect("$CGROUP", function(c)
  local peer = c.peer
  asked[(peer.proto == 6 and "tcp " or "udp ") .. peer.address .. " " .. peer.port] = #c
  assert(not c.ip and not c.eth and #c == 0)
  if peer.port == 7002 then return DROP end
  if moved[peer.port] then
    peer.port = moved[peer.port]
    peer.address = peer.address == "::2" and "::1" or peer.address == "127.0.0.2" and "127.0.0.1" or peer.address
    assert(peer.port == 7001)
  end
  if peer.port == 7004 then peer.address = "192.0.2.1.2" end
  if peer.port == 7005 then peer.port = 65536 end
end)
LUA

ip netns exec "$NETNS" python3 - >"$WORK/server.out" 2>"$WORK/server.err" <<'PYTHON' &
import packets

packets.reverse(packets.servers(["127.0.0.1", "::1"], [7001]))
PYTHON
PIDS+=($!)
eventually "the server listens" grep -qs listening "$WORK/server.out"

# ask: what becomes of connections to each port, by TCP and UDP and by both versions: + answered, - nobody there, ! refused.
cat >"$WORK/ask.py" <<'PYTHON'
import socket

found = ""
for family, own, other in ((socket.AF_INET, "127.0.0.1", "127.0.0.2"), (socket.AF_INET6, "::1", "::2")):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        for address, port in ((own, 7001), (own, 7002), (other, 7003), (own, 7004), (own, 7005), (own, 7006)):
            with socket.socket(family, kind) as one:
                one.settimeout(2)
                try:
                    one.connect((address, port))
                    if kind == socket.SOCK_DGRAM:
                        one.send(b"x")
                        one.recv(100)
                    found += "+"
                except PermissionError:
                    found += "!"
                except OSError:
                    found += "-"
        found += " "
print(found)
PYTHON
ask() { ip netns exec "$NETNS" python3 "$WORK/ask.py"; }
ask_as_service() { in_cgroup ip netns exec "$NETNS" python3 "$WORK/ask.py"; }

is '+----- +----- +----- +----- ' ask
for form in expanded general; do
    attach "$WORK/policy.lua" --form "$form"
    is '+!+--- +!+--- +!+--- +!+--- ' ask_as_service
    is '+----- +----- +----- +----- ' ask
    "$MOONHOOK" table policy asked dump --csv | tr -d '"' | grep -v '^key' | sort >"$WORK/asked"
    for line in 'tcp 127.0.0.1 7001,0' 'udp ::1 7002,0' 'tcp ::2 7003,0' 'udp 127.0.0.1 7006,0'; do
        grep -qx "$line" "$WORK/asked" || die "$form: $line is not among $(cat "$WORK/asked")"
    done
    is 24 grep -c . "$WORK/asked"
    grep -q "cgroup.connect4 $CGROUP, cgroup.connect6 $CGROUP" "$WORK/run.out" || die "$(cat "$WORK/run.out")"
    is 4 grep -c "lua:[0-9]*: bad value for field 'address'" "$WORK/run.err"
    is 4 grep -c "lua:[0-9]*: bad value for field 'port' (integer of 16 bits expected)" "$WORK/run.err"
    sed 's/7002/7001/' "$WORK/policy.lua" >"$WORK/other.lua"
    "$MOONHOOK" reload policy "$WORK/other.lua" >"$WORK/reload.out"
    is '!-+--- !-+--- !-+--- !-+--- ' ask_as_service
    detach
    is '+----- +----- +----- +----- ' ask_as_service
    # Pinned, the policy outlives its process. Its group is written here as the kernel does, from where groups are mounted.
    sed "s|\"$CGROUP\"|\"/${CGROUP##*/}\"|g" "$WORK/policy.lua" >"$WORK/below.lua"
    grep -q "\"/${CGROUP##*/}\"" "$WORK/below.lua"
    attach "$WORK/below.lua" --form "$form" --pin --bpffs "$BPFFS"
    kill -KILL "$RUN"
    wait "$RUN" 2>/dev/null || true
    RUN=''
    is '+!+--- +!+--- +!+--- +!+--- ' ask_as_service
    "$MOONHOOK" stop below --bpffs "$BPFFS" >"$WORK/stop.out"
    is '+----- +----- +----- +----- ' ask_as_service
done
