#!/usr/bin/env bash
# The Lua state that lives on next to a running program, on a veth between two namespaces: a timer reads what handlers count and
# tells them what to drop, a signal reaches the script, an error of a timer leaves everything else as it is.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin control
veth_pair

# start NAME SCRIPT: runs the script in the background and waits until it is attached.
start() {
    env --default-signal=INT,HUP "$MOONHOOK" run right0 "$2" --netns "$RIGHT" --mode native \
        >"$WORK/$1.out" 2>"$WORK/$1.err" </dev/null &
    RUN=$!
    eventually "$1 attaches" grep -qs '^attached' "$WORK/$1.out"
}

stop() {
    kill -INT "$RUN"
    wait "$RUN" || die "$1 ended with $?"
    RUN=
}

# send PORT: one datagram of 4 bytes.
send() {
    ip netns exec "$LEFT" bash -c "printf ping >/dev/udp/192.0.2.2/$1"
}

# Datagrams that reached the right side's UDP, where nobody listens (RFC 4113, udpNoPorts).
arrived() {
    ip netns exec "$RIGHT" awk '$1 == "Udp:" && $2 ~ /^[0-9]/ { print $3 }' /proc/net/snmp
}

has() {
    grep -qFx -- "$2" "$WORK/$1"
}

cat >"$WORK/limit.lua" <<'LUA'
local xdp = require "xdp"
local action = require "linux.xdp"

local count = map{key = "int", value = "int"}
local blocked = map{key = "int", value = "boolean"}
for port = 7000, 7009 do
  count[port] = 0
end

xdp.attach(function(pkt)
  local udp = pkt.udp
  if not udp or not count[udp.dport] then
    return action.PASS
  end
  count[udp.dport] = count[udp.dport] + 1
  event("datagram", pkt.ip.src, udp.dport, pkt.payload)
  if blocked[udp.dport] then
    return action.DROP
  end
  return action.PASS
end)

timer.every(0.05, function()
  for port, seen in pairs(count) do
    if seen >= 2 and not blocked[port] then
      blocked[port] = true
      print("blocked", port)
      event("block", port, seen)
    end
  end
end)
on("block", function(port, seen)
  print("event", port, seen)
end)
on("datagram", function(src, port, payload)
  print("datagram", src, port, payload)
end)
timer.after(0.1, function()
  error("a timer that fails")
end)
signal.on("HUP", function(name)
  local all = {}
  for port in pairs(blocked) do
    all[#all + 1] = port
    blocked[port] = nil
  end
  print("unblocked", table.concat(all, " "), "by " .. name)
end)
LUA

echo "limit.lua"
start limit "$WORK/limit.lua"
before=$(arrived)
send 7001
send 7001
send 7002
eventually "the handler's event reaches its listener" has limit.out "datagram	192.0.2.1	7002	ping"
eventually "port 7001 is blocked" has limit.out "blocked	7001"
eventually "the event reaches its listener" has limit.out "event	7001	2"
eventually "the failing timer is reported" grep -q 'limit.lua:[0-9]*: a timer that fails' "$WORK/limit.err"
send 7001
send 7002
eventually "port 7002 is blocked" has limit.out "blocked	7002"
[ "$(arrived)" = "$((before + 4))" ] || die "$(($(arrived) - before)) datagrams arrived, not 4"
kill -HUP "$RUN"
eventually "the signal reaches the script" grep -q '^unblocked.*7001.*by HUP$' "$WORK/limit.out"
stop limit

echo "top_talkers.lua"
start top "$REPO/examples/top_talkers.lua"
send 7001
eventually "the timer prints the source" grep -q '^ *[0-9]*  192\.0\.2\.1$' "$WORK/top.out"
stop top

echo "everything went as expected"
