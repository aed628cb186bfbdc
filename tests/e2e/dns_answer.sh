#!/usr/bin/env bash
# Questions for names are answered in place: at XDP and at tc where they come in, and at tc where they leave, in both forms. The answers come to the
# socket that asked, over IPv4 and IPv6, with right checksums.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin dns_answer
veth_pair
have python3 || skip "python3 is not installed"
have ethtool || skip "ethtool is not installed"

ip -n "$LEFT" address add 2001:db8::1/64 dev left0 nodad
ip -n "$RIGHT" address add 2001:db8::2/64 dev right0 nodad
# What comes in at XDP has the checksums that the wire has; answers that are sent back there need a program at the other end.
ip netns exec "$LEFT" ethtool -K left0 tx off >/dev/null

cat >"$WORK/ask.py" <<'PYTHON'
import socket, struct, sys

def ask(server, name, kind, number):
    """The answer's flags, and the addresses in it."""
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    # With an additional record, as resolvers have it (EDNS).
    additional = b"\0" + struct.pack(">HHIH", 41, 1232, 0, 0)
    question = labels + b"\0" + struct.pack(">HH", kind, 1)
    family = socket.AF_INET6 if ":" in server else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as asking:
        asking.settimeout(3)
        asking.connect((server, 53))
        asking.send(struct.pack(">6H", number, 0x0120, 1, 0, 0, 1) + question + additional)
        message = asking.recv(2048)
    found = struct.unpack(">6H", message[:12])
    assert found[0] == number and found[2] == 1 and found[4:] == (0, 0), found
    assert message[12:12 + len(question)] == question
    records, rest = [], message[12 + len(question):]
    for _ in range(found[3]):
        pointer, of, internet, ttl, length = struct.unpack(">HHHIH", rest[:12])
        assert (pointer, of, internet, ttl) == (0xC00C, kind, 1, 7)
        family = socket.AF_INET if of == 1 else socket.AF_INET6
        records.append(socket.inet_ntop(family, rest[12:12 + length]))
        rest = rest[12 + length:]
    assert rest == b"", rest
    return "%04x %s" % (found[1], " ".join(records))

for server in sys.argv[1:]:
    print(ask(server, "www.example.org", 1, 7), ask(server, "www.example.org", 28, 8), ask(server, "nowhere.example.org", 1, 9), sep="|")
PYTHON
cat >"$WORK/answers.lua" <<'LUA'
local dns = require "dns"
function answer(pkt)
  local asked = pkt.dns
  if not asked or asked.qr then return end
  if asked.qname ~= "www.example.org" then return dns.answer(pkt, {rcode = 3}) end
  if asked.qtype == 28 then return dns.answer(pkt, {address = "2001:db8::80", ttl = 7}) end
  return dns.answer(pkt, {address = "192.0.2.80", ttl = 7})
end
LUA
{ cat "$WORK/answers.lua"; echo 'require("xdp").attach(function(pkt) return answer(pkt) end)'; } >"$WORK/xdp.lua"
{ cat "$WORK/answers.lua"; echo 'require("tc").ingress(function(pkt) return answer(pkt) end)'; } >"$WORK/ingress.lua"
{ cat "$WORK/answers.lua"; echo 'require("tc").egress(function(pkt) return answer(pkt) end)'; } >"$WORK/egress.lua"
echo 'require("xdp").attach(function() end)' >"$WORK/pass.lua"

ask() { ip netns exec "$LEFT" timeout 60 python3 "$WORK/ask.py" 192.0.2.2 2001:db8::2; }
errors() { ip netns exec "$1" python3 -c 'import packets; print(packets.checksum_errors())'; }
RIGHT_ANSWERS='8500 192.0.2.80|8500 2001:db8::80|8503 
8500 192.0.2.80|8500 2001:db8::80|8503 '

"$MOONHOOK" run left0 "$WORK/pass.lua" --name left --netns "$LEFT" >"$WORK/left.out" 2>"$WORK/left.err" &
PIDS+=($!)
eventually "the left script is attached" runs left
for form in auto general; do
    for place in "right0 xdp $RIGHT" "right0 ingress $RIGHT" "left0 egress $LEFT"; do
        read -r name script space <<<"$place"
        attach "$name" "$WORK/$script.lua" --netns "$space" --form "$form"
        is "$RIGHT_ANSWERS" ask
        detach
        for side in "$LEFT" "$RIGHT"; do is 0 errors "$side"; done
    done
done
echo "names are answered at XDP and at tc"
