#!/usr/bin/env bash
# Counts are exact while packets come in on all CPUs and the script is replaced: by itself, by one that reads what was only counted, which has
# one word instead of one for each CPU, by one with another variable, and back. Programs of two hooks are not exchanged at once.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin counts
veth_pair
have python3 || skip "python3 is not installed"

script() { # script READ MORE: the handlers, with what else those at XDP and tc do
    cat <<LUA
local xdp, tc = require "xdp", require "tc"
seen, both, less$2 = 0, 0, 0${2:+, 0}
xdp.attach(function(pkt)
  if not (pkt.udp and pkt.udp.dport == 7000) then return end
  $1
  seen = seen + 1
  both = both + 1
  less = less - 3
end)
tc.ingress(function(pkt)
  if not (pkt.udp and pkt.udp.dport == 7000) then return end
  $1
  both = both + 1
end)
LUA
}
script "" "" >"$WORK/plain"
script "if both == -1 or seen == -1 then return end" "" >"$WORK/reads"
script "more = (more or 0) + 1" ", more" >"$WORK/more"

cat >"$WORK/send.py" <<'PY'
import socket, sys
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(int(sys.argv[1])):
    sender.sendto(b"counted", ("192.0.2.2", 7000))
PY
send() {
    ip netns exec "$LEFT" python3 "$WORK/send.py" 60000
}

# received: the datagrams that have come as far as UDP.
received() {
    ip netns exec "$RIGHT" awk '/^Udp: [0-9]/ { print $2 + $3 + $4 }' /proc/net/snmp
}

is() {
    [ "$("$MOONHOOK" exec counts -e "$1")" = "$2" ]
}

for change in "plain plain" "plain reads" "reads plain" "plain more" "more plain"; do
    read -r from to <<<"$change"
    cp "$WORK/$from" "$WORK/counts.lua"
    attach right0 "$WORK/counts.lua" --name counts --netns "$RIGHT"
    before=$(received)
    send & first=$!
    send & second=$!
    eventually "they are counted" is "seen > 1000" true
    cp "$WORK/$to" "$WORK/counts.lua"
    "$MOONHOOK" reload counts >"$WORK/log"
    wait "$first"
    wait "$second"
    came=$(($(received) - before))
    echo "from $from to $to: $came datagrams"
    eventually "all are counted" is "seen, both, less" "$(printf '%d\t%d\t%d' "$came" $((2 * came)) $((-3 * came)))" ||
        die "$("$MOONHOOK" exec counts -e "seen, both, less") of $came"
    detach
done
echo "everything went as expected"
