#!/usr/bin/env bash
# Frames of all lengths become longer at XDP in the driver of a veth, where many have no room behind them: in both forms, with what was there
# unchanged and zeros behind it. Whole names are answered there, whatever their length.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin grow
veth_pair
have python3 || skip "python3 is not installed"

cat >"$WORK/grow.lua" <<'LUA'
local xdp = require "xdp"
xdp.attach(function(pkt)
  local udp = pkt.udp
  if not udp or udp.dport ~= 7000 then return end
  local before, by = pkt:getstring(0, #pkt), udp.sport
  pkt:grow(by)
  local same = pkt:getstring(0, #before) == before
  print(#pkt - #before == by and same and pkt:getstring(#before, by) == ("\0"):rep(by))
end)
LUA
cat >"$WORK/send.py" <<'PYTHON'
import itertools, socket
for length, by in itertools.product([*range(0, 100, 7), 250, 800, 1400], [1, 9, 64, 180]):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sender.bind(("192.0.2.1", by))
        sender.sendto(bytes(n & 255 for n in range(length)), ("192.0.2.2", 7000))
PYTHON
SENT=$(((15 + 3) * 4))

grown() { [ "$(grep -cx true "$WORK/run.out")" -ge "$SENT" ]; }

for arguments in "" "--form general" "--form general --frags"; do
    # shellcheck disable=SC2086  # several words
    attach right0 "$WORK/grow.lua" --netns "$RIGHT" --mode native $arguments
    ip netns exec "$LEFT" timeout 30 python3 "$WORK/send.py"
    eventually "all frames become longer ($arguments)" grown
    detach
    [ ! -s "$WORK/run.err" ] || die "errors ($arguments): $(head -n 3 "$WORK/run.err")"
    ! grep -qx false "$WORK/run.out" || die "frames are not what they were ($arguments)"
done
echo "frames become longer where there is no room behind them"
