#!/usr/bin/env bash
# What scripts for Lunatik take of privileges: those without handlers none of themselves, those whose handlers all run in the process CAP_NET_ADMIN and CAP_NET_RAW, and only what runs in the
# kernel those for programs of BPF. Each is run without the others.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin lunatik_privileges
have setpriv || skip "setpriv is not installed"
have nsenter || skip "nsenter is not installed"
namespace NETNS one
ip -n "$NETNS" link set lo up

# with CAPABILITIES COMMAND…: in the namespace with these only (`,+net_admin`), whoever runs the test.
with() {
    local capabilities=$1
    shift
    limited "$capabilities"
    "${LIMITED[@]}" "$@"
}
limited() { LIMITED=(nsenter --net="/run/netns/$NETNS" setpriv --inh-caps="-all$1" --bounding-set="-all$1"); }

mkdir "$WORK/root"
cat >"$WORK/root/service.lua" <<'LUA'
local linux, thread, socket = require("linux"), require("thread"), require("socket.unix")
local server = socket.stream(require("service_path"))
server:bind()
server:listen()
print("listening")
return function()
  while not thread.shouldstop() do linux.schedule(20) end
  print("stopped")
end
LUA
echo "return '$WORK/service.sock'" >"$WORK/root/service_path.lua"
commands=(--root "$WORK/root" --log-folder "$WORK/logs")
is $'listening\nnothing runs in the kernel' with '' "$MOONHOOK" check --root "$WORK/root" --control "$WORK/root/service.lua"
rm -f "$WORK/service.sock"
with '' "$MOONHOOK" lunatik spawn service "${commands[@]}"
grep -q '^listening' "$WORK/logs/service.log" || die "$(cat "$WORK/logs/service.log")"
with '' "$MOONHOOK" lunatik list | grep -q '^service ' || die "$("$MOONHOOK" list)"
with '' "$MOONHOOK" lunatik stop service
grep -q '^stopped' "$WORK/logs/service.log" || die "$(cat "$WORK/logs/service.log")"

# Handlers that all run in the process.
cat >"$WORK/root/queued.lua" <<'LUA'
local netfilter, nf = require("netfilter"), require("linux.nf")
netfilter.register { hook = function(skb)
  skb:data():setuint8(1, 0)
  print("asked about", #skb)
  return nf.action.ACCEPT
end, pf = nf.proto.IPV4, hooknum = nf.inet.LOCAL_OUT }
LUA
send() { ip netns exec "$NETNS" python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", 9))'; }
limited ',+net_admin,+net_raw'
"${LIMITED[@]}" "$MOONHOOK" run --root "$WORK/root" "$WORK/root/queued.lua" >"$WORK/run.out" 2>"$WORK/run.err" &
RUN=$!
eventually "moonhook run attaches" grep -qs '^attached' "$WORK/run.out"
send
eventually "the handler is asked" grep -q '^asked about	29' "$WORK/run.out"
finish
fails 3 with ',+net_raw' "$MOONHOOK" run --root "$WORK/root" "$WORK/root/queued.lua"
grep -q CAP_NET_ADMIN "$WORK/fails.err" || die "$(cat "$WORK/fails.err")"

# One that runs in the kernel.
cat >"$WORK/root/kernel.lua" <<'LUA'
local netfilter, nf = require("netfilter"), require("linux.nf")
netfilter.register { hook = function() return nf.action.ACCEPT end, pf = nf.proto.IPV4, hooknum = nf.inet.LOCAL_OUT }
LUA
fails 3 with ',+net_admin,+net_raw' "$MOONHOOK" run --root "$WORK/root" "$WORK/root/kernel.lua"
grep -q 'MH0501.*needs CAP_BPF and CAP_PERFMON' "$WORK/fails.err" || die "$(cat "$WORK/fails.err")"
