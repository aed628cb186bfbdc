#!/usr/bin/env bash
# Handlers of tracepoints see what happens in the kernel: system calls, processes that begin, packets of one interface, by the names of
# arguments and fields; they share tables with handlers of packets; reloads and pins; objects that other loaders take; what cannot be had
# is said.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin trace
have python3 || skip "python3 is not installed"
need_bpffs
[ -r /sys/kernel/btf/vmlinux ] || skip "the kernel tells nothing of its types"
veth_pair
for side in "$LEFT" "$RIGHT"; do ip netns exec "$side" sysctl -q net.ipv6.conf.all.disable_ipv6=1; done

cat >"$WORK/trace.lua" <<'LUA'
local trace, xdp = require "trace", require "xdp"
local counts = map { key = "string:32", value = "int", capacity = 100 }
local function count(what, by)
  counts[what] = (counts[what] or 0) + by
end
-- 39 and 110 of x86-64 have no arguments, as 172 and 173 of other machines.
trace.on("raw_tp/sys_enter", function(e)
  if e.comm == "mh-caller" and (e.id == 110 or e.id == 173) then count("getppid", 1) end
end)
trace.on("tp/sched/sched_process_exec", function(e)
  if e.comm == "mh-caller" then
    print("exec", e.pid == e.tid, e.filename, e.task.real_parent.comm, e.uid)
  end
end)
trace.on("raw_tp/netif_receive_skb", function(e)
  local skb = e.skb
  if skb.dev.name == "right0" and skb.protocol == 0x0008 then
    count("packets", 1)
    count("bytes", skb.len)
    count("for us", skb.pkt_type == 0 and 1 or 0)
  end
end)
xdp.attach(function(pkt)
  if pkt.udp then count("xdp", 1) end
end)
LUA
# calls COUNT: a process that calls the kernel so often.
calls() { python3 -c "import os
open('/proc/self/comm', 'w').write('mh-caller')
for _ in range($1): os.getppid()"; }
cp "$(type -P true)" "$WORK/mh-caller"
send() {
    ip netns exec "$LEFT" python3 -c '
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
    for _ in range(int(sys.argv[1])): one.sendto(b"x" * 72, ("192.0.2.2", 7))
' "$1"
}
counted() { "$MOONHOOK" table trace counts get "$1" || true; }

attach right0 "$WORK/trace.lua" --netns "$RIGHT" --form expanded --name trace
calls 3000
"$WORK/mh-caller"
send 20
is 3000 counted getppid
is 20 counted packets
is 2000 counted bytes
is 20 counted "for us"
is 20 counted xdp
eventually "the process is seen" grep -qs "exec	true	$WORK/mh-caller	.*sh	0" "$WORK/run.out"
"$MOONHOOK" list | grep -q "raw_tp/sys_enter, tp/sched/sched_process_exec, raw_tp/netif_receive_skb, xdp" || die "$("$MOONHOOK" list)"

# A reload keeps tables; the new handler is there alone.
sed 's/count("getppid", 1)/count("getppid", 10)/' "$WORK/trace.lua" >"$WORK/ten.lua"
"$MOONHOOK" reload trace "$WORK/ten.lua" >/dev/null
calls 100
is 4000 counted getppid
detach

# A process that is killed leaves nothing, unless it was pinned.
echo 'require("trace").on("raw_tp/sys_enter", function(e) if e.comm == "mh-caller" then n = n + 1 end end) n = 0' >"$WORK/pinned.lua"
for pin in "" "--pin"; do
    attach "$WORK/pinned.lua" --name pinned --bpffs "$BPFFS" $pin
    kill -KILL "$RUN"
    detach 2>/dev/null
    [ -n "$pin" ] || [ ! -e "$BPFFS/pinned" ] || die "a pin is left"
done
[ -e "$BPFFS/pinned/link-raw_tp@sys_enter" ] || die "nothing is pinned"
calls 100
attach "$WORK/pinned.lua" --name pinned --bpffs "$BPFFS" --pin
[ "$("$MOONHOOK" exec pinned -e 'return n')" -ge 100 ] || die "what was counted is gone"
detach
"$MOONHOOK" stop pinned --bpffs "$BPFFS" >/dev/null
[ ! -e "$BPFFS/pinned" ] || die "pins are left"

# Errors of handlers have lines.
echo 'require("trace").on("raw_tp/sys_enter", function(e)
  if e.comm == "mh-caller" then error("call " .. e.id) end end)' >"$WORK/fails.lua"
attach "$WORK/fails.lua" --name fails
calls 1
eventually "errors are told" grep -qs 'fails.lua:2: call [0-9]' "$WORK/run.err" "$WORK/run.out"
detach

# Other loaders take the object.
"$MOONHOOK" build "$WORK/trace.lua" -o "$WORK/trace.o" >/dev/null
if have bpftool; then
    bpftool prog loadall "$WORK/trace.o" "$BPFFS" >"$WORK/loader.log" 2>&1 || die "$(tail -n 5 "$WORK/loader.log")"
    ! grep -q "BTF loading error" "$WORK/loader.log" || die "$(tail -n 5 "$WORK/loader.log")"
    rm -r "$BPFFS"
fi

# refused CODE TEXT SCRIPT ARGUMENT…: the command refuses the script, and says so.
refused() {
    local code=$1 text=$2
    echo "$3" >"$WORK/refused.lua"
    shift 3
    fails 1 "$MOONHOOK" "$@"
    grep -q "$code.*$text" "$WORK/fails.err" || die "$(cat "$WORK/fails.err")"
}
refused MH0115 "no tracepoint 'raw_tp/sys_entr'" 'require("trace").on("raw_tp/sys_entr", print)' check "$WORK/refused.lua"
grep -q sys_enter "$WORK/fails.err" || die "$(cat "$WORK/fails.err")"
refused MH0211 "no field 'idd'" 'require("trace").on("raw_tp/sys_enter", function(e) return e.idd end)' check "$WORK/refused.lua"
refused MH0211 "no field 'lenn'" 'require("trace").on("raw_tp/netif_receive_skb", function(e) return e.skb.lenn end)' check "$WORK/refused.lua"
for value in 'tostring(e)' 'tostring(e.task)' 'e[1]' 'print(e)' 'print(e.task)'; do
    refused "MH0[0-9]*" . "require('trace').on('raw_tp/sys_enter', function(e) return $value end)" check "$WORK/refused.lua"
    ! grep -q -- "--form expanded" "$WORK/fails.err" || die "$value: there is no other form: $(cat "$WORK/fails.err")"
done
refused MH0117 "kprobe/tcp_connect" 'require("trace").on("kprobe/tcp_connect", print)' check "$WORK/refused.lua"
refused MH0029 "expanded code alone" 'require("trace").on("raw_tp/sys_enter", function() end)' check --form general "$WORK/refused.lua"
refused MH0030 "get no packets" 'require("trace").on("raw_tp/sys_enter", function() end)' bench "$WORK/refused.lua"
echo ok
