#!/usr/bin/env bash
# Scripts that are written for Lunatik, in both forms: a filter of DNS questions whose module is found below the folder of all scripts, before and
# after a reload. What the host asks for listed names is dropped, which the one who asks is told; answers to other questions come, TCP too.
# With MOONHOOK_PEERS, a folder with Lunatik's checkout, its own filter does the same.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin lunatik
have python3 || skip "python3 is not installed"
namespace NETNS one
need_bpffs
ip -n "$NETNS" link set lo up

mkdir -p "$WORK/root/filters/dns"
cat >"$WORK/root/filters/dns/listed.lua" <<'LUA'
local listed = {}
local names = { "github.com", "blocked.example" }

function listed.has(name)
  for _, pattern in ipairs(names) do
    if name:find(pattern) then return true end
  end
  return false
end

return listed
LUA
cat >"$WORK/root/filters/dns/hook.lua" <<'LUA'
local netfilter = require("netfilter")
local byteorder = require("byteorder")
local nf = require("linux.nf")
local listed = require("filters.dns.listed")

local UDP, DNS = 17, 53

local function hook(skb)
  local packet = skb:data("net")
  local header = (packet:getuint8(0) & 0x0f) * 4
  if packet:getuint8(9) ~= UDP or byteorder.ntoh16(packet:getuint16(header + 2)) ~= DNS then
    return nf.action.ACCEPT
  end
  local name = packet:getstring(header + 20):match("([^\0]*)")
  if listed.has(name) then
    print("refused: " .. #name)
    return nf.action.DROP
  end
  return nf.action.ACCEPT
end

netfilter.register { hook = hook, pf = nf.proto.INET, hooknum = nf.inet.LOCAL_OUT, priority = nf.ip.pri.FILTER }
LUA

# ask: what becomes of questions for three names, and of a line over TCP: + answered, ! refused, - lost.
cat >"$WORK/ask.py" <<'PYTHON'
import socket, struct, threading

def question(name):
    labels = b"".join(struct.pack("B", len(label)) + label.encode() for label in name.split("."))
    return struct.pack(">6H", 7, 0x100, 1, 0, 0, 0) + labels + b"\0" + struct.pack(">2H", 1, 1)

server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 53))
def answer():
    while True:
        text, asker = server.recvfrom(2000)
        server.sendto(text[:2] + b"\x81\x80" + text[4:], asker)
threading.Thread(target=answer, daemon=True).start()
found = ""
for name in ("open.example", "github.com", "api.github.com", "other.org"):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(1)
        try:
            client.sendto(question(name), ("127.0.0.1", 53))
            found += "+" if client.recv(2000)[:2] == b"\0\7" else "?"
        except PermissionError:
            found += "!"
        except TimeoutError:
            found += "-"
with socket.create_server(("127.0.0.1", 5300)) as listener, socket.create_connection(("127.0.0.1", 5300)) as client:
    accepted, _ = listener.accept()
    client.sendall(b"line\n")
    found += "+" if accepted.recv(10) == b"line\n" else "-"
print(found)
PYTHON
ask() { ip netns exec "$NETNS" timeout 30 python3 "$WORK/ask.py"; }

# filtered ROOT SCRIPT NAME: the script filters, and goes without leaving anything.
filtered() {
    for form in auto general; do
        attach "$2" --root "$1" --netns "$NETNS" --form "$form"
        eventually "moonhook run listens" test -e "$WORK/run/$3.sock"
        is '+!!++' ask
        "$MOONHOOK" reload "$3" >/dev/null
        is '+!!++' ask
        detach
        is '+++++' ask
    done
}
is '+++++' ask
filtered "$WORK/root" "$WORK/root/filters/dns/hook.lua" hook
if [ -d "${MOONHOOK_PEERS:-}/luainkernel+lunatik" ]; then
    root="$MOONHOOK_PEERS/luainkernel+lunatik"
    filtered "$root" "$root/examples/dnsblock/nf_dnsblock.lua" nf_dnsblock
fi
