#!/usr/bin/env bash
# HIKe's script of two levels against floods, as it is, from checkouts in MOONHOOK_HIKE, over a real link: equal frames pass as long as they are few, other
# flows and IPv4 pass, a flow that floods is blacklisted, and the monitor has counted it all, in both forms. A script whose last program
# cannot be had leaves nothing behind.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

[ -n "${MOONHOOK_HIKE:-}" ] || skip "MOONHOOK_HIKE names no folder with checkouts"
begin hike
have python3 || skip "python3 is not installed"
have bpftool || skip "bpftool is not installed"
namespace LEFT left
namespace RIGHT right
ip link add left0 netns "$LEFT" type veth peer name right0 netns "$RIGHT"
for side in "$LEFT left0" "$RIGHT right0"; do
    set -- $side
    ip netns exec "$1" sysctl -q "net.ipv6.conf.$2.disable_ipv6=1"
    ip -n "$1" link set "$2" up
done
SCRIPT=$MOONHOOK_HIKE/netgroup+eclat-daemon/test/eclat_scripts/ddos_tb_2_levels.eclat
PACKAGES=(--packages "$MOONHOOK_HIKE" --alias "mynet=hike_default,meter,sampler,contribs" -D DEVNAME right0)

# send: 11 equal frames, one of another flow, one of IPv4, then 600 equal ones.
cat >"$WORK/send.py" <<'PYTHON'
import socket, struct, time

def ipv6(source, destination):
    link = bytes.fromhex("02000000000202000000000186dd")
    addresses = socket.inet_pton(socket.AF_INET6, source) + socket.inet_pton(socket.AF_INET6, destination)
    udp = struct.pack("!HHHH", 1234, 80, 16, 0) + b"abcdefgh"
    return link + struct.pack("!IHBB", 6 << 28, len(udp), 17, 64) + addresses + udp

ipv4 = bytes.fromhex("0200000000020200000000010800450000200000400040110000c6336401c6336402") + bytes(16)
flood = ipv6("2001:db8::1", "2001:db8::2")
with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as link:
    link.bind(("left0", 0))
    for frame in [flood] * 11 + [ipv6("2001:db8::1", "2001:db8::3"), ipv4]:
        link.send(frame)
    time.sleep(0.2)
    began = time.monotonic()
    for number in range(600):
        link.send(flood)
        # A veth device has room for 256 packets.
        if number % 50 == 49:
            time.sleep(0.005)
    # The flow is blacklisted for ten seconds.
    assert time.monotonic() - began < 9
PYTHON

# monitor EVENT: how often the monitor has counted it, on all CPUs.
monitor() {
    bpftool --json map dump id "$MONITOR" | python3 -c '
import json, sys
event = int(sys.argv[1])
for entry in json.load(sys.stdin):
    key = entry["formatted"]["key"] if "formatted" in entry else entry["key"]
    if key == event:
        print(sum(value["value"] for value in entry["formatted"]["values"]))
        break
else:
    print(0)' "$1"
}

all_counted() { [ $(($(monitor 0) + $(monitor 1))) = 612 ]; }

for form in expanded general; do
    attach "$SCRIPT" "${PACKAGES[@]}" --netns "$RIGHT" --form "$form"
    MONITOR=$(bpftool --json map show name map_pcpu_mon | python3 -c 'import json, sys
found = json.load(sys.stdin)
print((found[-1] if isinstance(found, list) else found)["id"])')
    ip netns exec "$LEFT" python3 "$WORK/send.py"
    eventually "all frames of IPv6 are counted" all_counted
    passed=$(monitor 0) dropped=$(monitor 1)
    # Ten frames empty the flow's bucket; the next one has it blacklisted for ten seconds. The other flow passes.
    [ "$passed $dropped" = "11 601" ] || die "$form: $passed passed and $dropped were dropped"
    finish
    counts=$(tail -n 1 "$WORK/run.err" "$WORK/run.out" | grep -h 'final counters' | tail -n 1)
    grep -q "DROP $dropped, PASS $((passed + 1))," <<<"$counts" || die "$form: $counts, but the monitor has $passed and $dropped"
done

# The last program that a script imports is not there, or is refused by the verifier: nothing is attached, and no map is left.
cat >"$WORK/broken.eclat" <<'ECLAT'
from programs.hike_default import hike_drop, hike_pass
from loaders.basic import ip6_sc
from programs.eip import mcd

ip6_sc[ipv6_sc_map] = { (0): (main) }
ip6_sc.attach('right0', 'xdp')

def main():
    mcd()
    hike_drop()
ECLAT
before=$(bpftool --json map show | python3 -c 'import json, sys; print(len(json.load(sys.stdin)))')
fails 1 "$MOONHOOK" run "$WORK/broken.eclat" "${PACKAGES[@]}" --netns "$RIGHT"
grep -q MH0906 "$WORK/fails.err" || die "$(cat "$WORK/fails.err")"
sed -i 's/mcd/none/' "$WORK/broken.eclat"
fails 1 "$MOONHOOK" run "$WORK/broken.eclat" "${PACKAGES[@]}" --netns "$RIGHT"
grep -q MH0912 "$WORK/fails.err" || die "$(cat "$WORK/fails.err")"
! ip -n "$RIGHT" link show right0 | grep -q xdp || die "something is attached"
after=$(bpftool --json map show | python3 -c 'import json, sys; print(len(json.load(sys.stdin)))')
[ "$after" -le "$before" ] || die "$((after - before)) maps are left"
echo "everything went as expected"
