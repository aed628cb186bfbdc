#!/usr/bin/env bash
# A packet that makes a handler of this process go on and on, by itself, by its error's text or by calling itself, costs its steps (`--budget`): other packets of the queue
# wait no longer, and the process ends when it is told to.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin lunatik_endless
have python3 || skip "python3 is not installed"
need_bpffs
local_pair

mkdir "$WORK/root"
cat >"$WORK/root/endless.lua" <<'LUA'
local netfilter = require "netfilter"
local nf = require "linux.nf"
local odd = setmetatable({}, { __tostring = function() while true do end end })
local function deeper() return deeper() + 1 end
netfilter.register { pf = nf.proto.IPV4, hooknum = nf.inet.LOCAL_IN, priority = 0, hook = function(skb)
  local data = skb:data()
  local port = data:getuint16(22)
  if port == 0x0900 then while true do end end
  if port == 0x0a00 then error(odd) end
  if port == 0x0b00 then return deeper() end
  data:setuint8(1, data:getuint8(1))
  return nf.action.ACCEPT
end }
LUA

# The good datagrams that arrive behind bad ones.
cat >"$WORK/behind.py" <<'PYTHON'
import socket

with socket.socket(type=socket.SOCK_DGRAM) as receiver, socket.socket(type=socket.SOCK_DGRAM) as sender:
    receiver.bind(("127.0.0.1", 7000))
    receiver.settimeout(5)
    for port in (9, 10, 11) * 5:
        sender.sendto(b"bad", ("127.0.0.1", port))
    for _ in range(10):
        sender.sendto(b"good", receiver.getsockname())
    arrived = 0
    try:
        while arrived < 10:
            arrived += receiver.recv(100) == b"good"
    except TimeoutError:
        pass
    print(arrived)
PYTHON
ip -n "$NETNS" link set lo up

attach --netns "$NETNS" --root "$WORK/root" "$WORK/root/endless.lua"
is 10 ip netns exec "$NETNS" python3 "$WORK/behind.py"
eventually "the errors are told" grep -q 'step budget exhausted' "$WORK/run.err" "$WORK/run.out"
ip netns exec "$NETNS" timeout 10 python3 -c '
import socket
socket.socket(type=socket.SOCK_DGRAM).sendto(b"bad", ("127.0.0.1", 9))'
kill -TERM "$RUN"
timeout 10 tail --pid="$RUN" -f /dev/null || die "it does not end while a handler goes on"
wait "$RUN" || die "moonhook run ended with $?: $(cat "$WORK/run.err")"
RUN=''
