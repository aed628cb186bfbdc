#!/usr/bin/env bash
# A script for Lunatik that rewrites answers of DNS where they come in (NFQUEUE), with offsets that count from the link's header: on a tunnel, whose packets have
# none, the address in the answer is another; on Ethernet the offsets are others, and answers come as they are. dnsmasq answers and dig asks. UDP checksums, which the script
# does not touch, are taken out of what goes through the tunnel. With MOONHOOK_PEERS, a folder with Lunatik's checkout, its own script does the same.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin lunatik_doctor
for command in python3 dnsmasq dig; do
    have $command || skip "$command is not installed"
done
[ -c /dev/net/tun ] || skip "there are no tunnels"
need_bpffs
namespace LEFT left
namespace RIGHT right
ip link add left0 netns "$LEFT" type veth peer name right0 netns "$RIGHT"
ip -n "$LEFT" address add 10.1.5.2/24 dev left0
ip -n "$RIGHT" address add 10.1.5.3/24 dev right0
ip -n "$LEFT" link set left0 up
ip -n "$RIGHT" link set right0 up

# A tunnel: what goes into the interface of one side comes out of that of the other, datagrams of UDP without a checksum.
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

def plain(packet):
    at = (packet[0] & 15) * 4
    if packet[0] >> 4 != 4 or packet[9] != 17 or len(packet) < at + 8:
        return packet
    return packet[:at + 6] + b"\0\0" + packet[at + 8:]

ends = [tunnel(sys.argv[1], "10.1.1.2/24"), tunnel(sys.argv[2], "10.1.1.3/24")]
print("tunnel", flush=True)
while True:
    for end in select.select(ends, [], [])[0]:
        os.write(ends[1 - ends.index(end)], plain(os.read(end, 65536)))
PYTHON
python3 "$WORK/relay.py" "$LEFT" "$RIGHT" >"$WORK/relay.out" 2>"$WORK/relay.err" &
PIDS+=($!)
eventually "the tunnel is there" grep -qs tunnel "$WORK/relay.out"

ip netns exec "$RIGHT" dnsmasq --keep-in-foreground --no-resolv --no-hosts --conf-file=/dev/null --pid-file= --user=root \
    --address=/lunatik.com/1.2.3.4 --address=/other.com/1.2.3.4 >"$WORK/dnsmasq.log" 2>&1 &
PIDS+=($!)

dig_for() { ip netns exec "$LEFT" dig +short +tries=3 +time=2 "@$1" "$2" A 2>&1 | tr '\n' ' '; }
eventually "dnsmasq answers" eval '[ "$(dig_for 10.1.5.3 other.com)" = "1.2.3.4 " ]'
# ask: the addresses of two names, over the tunnel and over Ethernet.
ask() {
    local server name found=''
    for server in 10.1.1.3 10.1.5.3; do
        for name in lunatik.com other.com; do
            found+=$(dig_for "$server" "$name")' '
        done
    done
    echo $found
}

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
    # Nobody waits for a process that was killed: answers come as they are.
    attach "$2" --root "$1" --netns "$LEFT"
    kill -KILL "$RUN"
    wait "$RUN" || true
    RUN=''
    is "$plain" ask
    ! ip netns exec "$LEFT" grep -q . /proc/net/netfilter/nfnetlink_queue || die "a queue is left"
}
doctored "$WORK/root" "$WORK/root/doctor.lua"
if [ -d "${MOONHOOK_PEERS:-}/luainkernel+lunatik" ]; then
    root="$MOONHOOK_PEERS/luainkernel+lunatik"
    doctored "$root" "$root/examples/dnsdoctor/nf_dnsdoctor.lua"
fi
