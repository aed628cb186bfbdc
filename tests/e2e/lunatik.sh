#!/usr/bin/env bash
# Scripts that are written for Lunatik, in both forms: a filter of DNS questions whose module is found below the folder of all scripts, before and
# after a reload. What the host asks for listed names is dropped, which the one who asks is told; answers to other questions come, TCP too.
# With MOONHOOK_PEERS, a folder with Lunatik's checkout, its own filter does the same; where dnsmasq and dig are installed, these are the ones who ask and answer as well.
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

# The same with programs that people use: dnsmasq at another host, and dig.
SERVED=''
if have dnsmasq && have dig; then
    namespace SERVER server
    ip -n "$NETNS" link add dns0 type veth peer name dns1 netns "$SERVER"
    ip -n "$NETNS" address add 10.79.0.1/24 dev dns0
    ip -n "$SERVER" address add 10.79.0.2/24 dev dns1
    ip -n "$NETNS" link set dns0 up
    ip -n "$SERVER" link set dns1 up
    ip netns exec "$SERVER" dnsmasq --keep-in-foreground --no-resolv --no-hosts --conf-file=/dev/null --pid-file= --user=root \
        --listen-address=10.79.0.2 --bind-interfaces --address=/open.example/10.0.0.7 --address=/github.com/10.0.0.8 >"$WORK/dnsmasq.log" 2>&1 &
    PIDS+=($!)
    SERVED=yes
fi
# dig_for NAME OPTION…: the address, or nothing.
dig_for() { ip netns exec "$NETNS" dig +short +tries=1 +time=1 "${@:2}" @10.79.0.2 "$1" A 2>/dev/null | grep -E '^[0-9.]+$' || true; }
[ -z "$SERVED" ] || eventually "dnsmasq answers" eval '[ "$(dig_for open.example)" = 10.0.0.7 ]'
# digs LISTED: what comes of questions for two names by UDP, and for the listed one by TCP.
digs() {
    [ -n "$SERVED" ] || return 0
    is 10.0.0.7 dig_for open.example
    is "$1" dig_for github.com
    is 10.0.0.8 dig_for github.com +tcp
}

# filtered ROOT SCRIPT NAME: the script filters, and goes without leaving anything.
filtered() {
    local printed
    for form in auto general; do
        attach "$2" --root "$1" --netns "$NETNS" --form "$form"
        eventually "moonhook run listens" test -e "$WORK/run/$3.sock"
        is '+!!++' ask
        "$MOONHOOK" reload "$3" >/dev/null
        is '+!!++' ask
        printed=$(grep -vc counters "$WORK/run.out")
        digs ''
        [ -z "$SERVED" ] || eventually "the question is told of" eval '[ "$(grep -vc counters "$WORK/run.out")" -gt "$printed" ]'
        detach
        digs 10.0.0.8
        is '+++++' ask
        # A process that is killed takes its filter along.
        attach "$2" --root "$1" --netns "$NETNS" --form "$form"
        eventually "moonhook run listens" test -e "$WORK/run/$3.sock"
        is '+!!++' ask
        kill -KILL "$RUN"
        wait "$RUN" || true
        RUN=''
        is '+++++' ask
    done
}
is '+++++' ask
filtered "$WORK/root" "$WORK/root/filters/dns/hook.lua" hook
if [ -d "${MOONHOOK_PEERS:-}/luainkernel+lunatik" ]; then
    root="$MOONHOOK_PEERS/luainkernel+lunatik"
    filtered "$root" "$root/examples/dnsblock/nf_dnsblock.lua" nf_dnsblock
fi
