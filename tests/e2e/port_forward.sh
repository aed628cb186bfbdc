#!/usr/bin/env bash
# examples/port_forward.lua on a veth: real clients reach a server by another address and port, over IPv4 and IPv6, by TCP and UDP, in
# both forms, with checksums that are left to the network card and without, and no checksum is wrong.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin forward
veth_pair
have python3 || skip "python3 is not installed"
have ethtool || skip "ethtool is not installed"

for side in "$LEFT" "$RIGHT"; do ip -n "$side" link set lo up; done
ip -n "$LEFT" address add 2001:db8::1/64 dev left0 nodad
ip -n "$RIGHT" address add 2001:db8::2/64 dev right0 nodad
ip -n "$LEFT" route add 198.51.100.1 via 192.0.2.2
ip -n "$LEFT" route add 2001:db8:1::1 via 2001:db8::2

# Answers with what it gets: TCP and UDP, both families.
ip netns exec "$RIGHT" python3 - >"$WORK/server.out" 2>"$WORK/server.err" <<'PYTHON' &
import packets
packets.reverse(packets.servers(["192.0.2.2", "2001:db8::2"], [80]))
PYTHON
PIDS+=($!)
eventually "the server listens" grep -qs listening "$WORK/server.out"

# ask PATIENCE: every service by its other address, with messages of all lengths up to what takes several segments.
ask() {
    ip netns exec "$LEFT" timeout 60 python3 -c '
import packets, sys
packets.ask(["198.51.100.1", "2001:db8:1::1"], 8080, int(sys.argv[1]))
print("all answered")' "$1"
}

# errors SIDE: what the namespace has counted of wrong checksums.
errors() { ip netns exec "$1" python3 -c 'import packets; print(packets.checksum_errors())'; }

for form in auto general; do
    for offload in on off; do
        ip netns exec "$LEFT" ethtool -K left0 tx "$offload" >/dev/null
        ip netns exec "$RIGHT" ethtool -K right0 tx "$offload" >/dev/null
        attach right0 "$REPO/examples/port_forward.lua" --netns "$RIGHT" --form "$form"
        is "all answered" ask 20
        detach
        for side in "$LEFT" "$RIGHT"; do is 0 errors "$side"; done
    done
done
# Without the script nobody is there.
fails 1 ask 1
