#!/usr/bin/env bash
# A script for Lunatik that rewrites answers of DNS where they come in (NFQUEUE), with offsets that count from the link's header: on a tunnel, whose packets have
# none, the address in the answer is another; on Ethernet the offsets are others, and answers come as they are. UDP checksums, which the script does not touch, are off in
# these answers. With MOONHOOK_PEERS, a folder with Lunatik's checkout, its own script does the same.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin lunatik_doctor
have python3 || skip "python3 is not installed"
[ -c /dev/net/tun ] || skip "there are no tunnels"
need_bpffs
namespace LEFT left
namespace RIGHT right
ip link add left0 netns "$LEFT" type veth peer name right0 netns "$RIGHT"
ip -n "$LEFT" address add 10.1.5.2/24 dev left0
ip -n "$RIGHT" address add 10.1.5.3/24 dev right0
ip -n "$LEFT" link set left0 up
ip -n "$RIGHT" link set right0 up

# A tunnel: what goes into the interface of one side comes out of that of the other.
cat >"$WORK/relay.py" <<'PYTHON'
import ctypes, fcntl, os, select, struct, subprocess, sys

libc = ctypes.CDLL(None, use_errno=True)

def tunnel(namespace, address):
    file = os.open(f"/run/netns/{namespace}", os.O_RDONLY)
    if libc.setns(file, 0x40000000):
        sys.exit(os.strerror(ctypes.get_errno()))
    os.close(file)
    end = os.open("/dev/net/tun", os.O_RDWR)
    # TUNSETIFF: IFF_TUN, IFF_NO_PI.
    fcntl.ioctl(end, 0x400454CA, struct.pack("16sH22x", b"tun0", 0x1001))
    subprocess.run(["ip", "address", "add", address, "dev", "tun0"], check=True)
    subprocess.run(["ip", "link", "set", "tun0", "up"], check=True)
    return end

ends = [tunnel(sys.argv[1], "10.1.1.2/24"), tunnel(sys.argv[2], "10.1.1.3/24")]
print("tunnel", flush=True)
while True:
    for end in select.select(ends, [], [])[0]:
        os.write(ends[1 - ends.index(end)], os.read(end, 65536))
PYTHON
python3 "$WORK/relay.py" "$LEFT" "$RIGHT" >"$WORK/relay.out" 2>"$WORK/relay.err" &
PIDS+=($!)
eventually "the tunnel is there" grep -qs tunnel "$WORK/relay.out"

# Answers every question with the address 1.2.3.4, and without a checksum.
ip netns exec "$RIGHT" python3 - >"$WORK/server.out" 2>"$WORK/server.err" <<'PYTHON' &
import socket

server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
# SO_NO_CHECK
server.setsockopt(socket.SOL_SOCKET, 11, 1)
server.bind(("0.0.0.0", 53))
print("listening", flush=True)
while True:
    text, asker = server.recvfrom(2000)
    head = text[:2] + bytes([0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0])
    server.sendto(head + text[12:] + b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\1\2\3\4", asker)
PYTHON
PIDS+=($!)
eventually "the server listens" grep -qs listening "$WORK/server.out"

cat >"$WORK/ask.py" <<'PYTHON'
import socket, struct, sys

def asked(server, name):
    labels = b"".join(struct.pack("B", len(label)) + label.encode() for label in name.split("."))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.settimeout(2)
        one.sendto(struct.pack(">6H", 7, 0x100, 1, 0, 0, 0) + labels + b"\0" + struct.pack(">2H", 1, 1), (server, 53))
        return socket.inet_ntoa(one.recv(2000)[-4:])

print(*(asked(server, name) for server in ("10.1.1.3", "10.1.5.3") for name in ("lunatik.com", "other.com")))
PYTHON
ask() { ip netns exec "$LEFT" timeout 30 python3 "$WORK/ask.py"; }

mkdir "$WORK/root"
cat >"$WORK/root/doctor.lua" <<'LUA'
local netfilter = require "netfilter"
local byteorder = require "byteorder"
local nf = require "linux.nf"
local name = string.pack("s1s1", "lunatik", "com")

local function doctor(skb)
  local packet = skb:data("mac")
  local at = (packet:getuint8(0) & 15) * 4
  if packet:getuint8(9) ~= 17 or byteorder.ntoh16(packet:getuint16(at)) ~= 53 then return nf.action.ACCEPT end
  local question = at + 8 + 12
  if packet:getstring(question, #name) == name then
    packet:setuint32(question + #name + 1 + 4 + 12, byteorder.hton32(0x0a010203))
  end
  return nf.action.ACCEPT
end

netfilter.register { hook = doctor, pf = nf.proto.INET, hooknum = nf.inet.PRE_ROUTING, priority = nf.ip.pri.MANGLE + 1 }
LUA

plain='1.2.3.4 1.2.3.4 1.2.3.4 1.2.3.4'
is "$plain" ask
# doctored ROOT SCRIPT: the answer to one name is another, over the tunnel.
doctored() {
    attach "$2" --root "$1" --netns "$LEFT"
    is '10.1.2.3 1.2.3.4 1.2.3.4 1.2.3.4' ask
    finish
    is "$plain" ask
}
doctored "$WORK/root" "$WORK/root/doctor.lua"
if [ -d "${MOONHOOK_PEERS:-}/luainkernel+lunatik" ]; then
    root="$MOONHOOK_PEERS/luainkernel+lunatik"
    doctored "$root" "$root/examples/dnsdoctor/nf_dnsdoctor.lua"
fi
