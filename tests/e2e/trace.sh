#!/usr/bin/env bash
# Handlers of tracepoints see what happens in the kernel: system calls, processes that begin, packets of one interface, by the names of
# arguments and fields; they share tables with handlers of packets; both forms see the same; handlers interrupt one another; reloads and
# pins; objects that other loaders take; what cannot be had is said.
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

for form in expanded general; do
    attach right0 "$WORK/trace.lua" --netns "$RIGHT" --form $form --name trace
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
done

# All kinds of values, which are the same in both forms.
cat >"$WORK/values.lua" <<'LUA'
local trace = require "trace"
trace.on("tp/sched/sched_process_exec", function(e, more)
  if e.comm ~= "mh-caller" then return end
  local task, cred = e.task, e.task.cred
  local bits = task.cpus_mask.bits
  print("ids", e.pid == e.tid, e.pid == task.tgid, e.uid, e.gid, cred.uid.val, cred.gid.val, e.cpu >= 0, e.time > 0, more)
  print("texts", e.comm, e.filename, task.comm, task.real_parent.comm, task.nsproxy.uts_ns.name.sysname)
  print("null", task.mm ~= nil, task.bio_list == nil, type(task), type(e), task == e.task, task == task.real_parent)
  print("bits", task.sched_reset_on_fork, task.in_iowait)
  print("array", #bits > 0, bits[0] ~= 0, bits[#bits], bits[-1])
end)
trace.on("raw_tp/sys_enter", function(e)
  if e.comm == "mh-caller" and (e.id == 110 or e.id == 173) then print("call", e.id, e.regs ~= nil) end
  return "is not looked at"
end)
LUA
for form in expanded general; do
    attach "$WORK/values.lua" --form $form --name values
    "$WORK/mh-caller"
    calls 2
    eventually "two calls are seen" eval '[ "$(grep -cs "^call" "$WORK/run.out")" = 2 ]'
    detach
    grep -E "^(ids|texts|null|bits|array|call)" "$WORK/run.out" >"$WORK/values.$form"
    [ "$(wc -l <"$WORK/values.$form")" = 7 ] || die "$(cat "$WORK/run.out" "$WORK/run.err")"
    grep -q "errors 0" "$WORK/run.err" "$WORK/run.out" || die "$(cat "$WORK/run.err")"
done
diff "$WORK/values.expanded" "$WORK/values.general" || die "the forms differ"
grep -q "^texts	mh-caller	$WORK/mh-caller	mh-caller	.*	Linux" "$WORK/values.general" || die "$(cat "$WORK/values.general")"

# What only general code can do: recursion, structures in tables, fields by computed names, errors that are caught.
cat >"$WORK/general.lua" <<'LUA'
local trace = require "trace"
local names = { "pid", "comm" }
local seen = map { key = "string:32", value = "int", capacity = 100 }
local function top(task, depth)
  if task.pid == 1 or depth > 64 then return depth end
  return top(task.real_parent, depth + 1)
end
local function fails(f) return (select(2, pcall(f))) end
trace.on("tp/sched/sched_process_exec", function(e)
  if e.comm ~= "mh-caller" then return end
  local task = e.task
  local kept = { task, [task] = "known" }
  local texts = {}
  for i, name in ipairs(names) do texts[i] = ("%s=%s"):format(name, tostring(kept[1][name] == e[name])) end
  seen[e.comm] = (seen[e.comm] or 0) + 1
  print("kept", kept[e.task], table.concat(texts, " "), top(task, 0) > 0)
  print(fails(function() return e.nothing end))
  print(fails(function() return task.nothing end))
  print(fails(function() return #e end))
  print(fails(function() return #task end))
  print(fails(function() return e[1] end))
  print(fails(function() return task[1] end))
  print(fails(function() e.pid = 1 end))
  print(fails(function() task.pid = 1 end))
  print(fails(function() return tostring(e) end))
  print(fails(function() print(task) end))
  print(fails(function() return task + 1 end))
  print(fails(function() last = e end))
  print(fails(function() seen.last = task end))
  print(fails(function() last = task end))
end)
trace.on("raw_tp/sys_enter", function(e)
  if e.comm == "mh-caller" then seen[e.comm .. " calls"] = (seen[e.comm .. " calls"] or 0) + 1 end
end)
LUA
attach "$WORK/general.lua" --form auto --name general
"$WORK/mh-caller"
eventually "the errors are told" grep -qs "structure of the kernel's cannot be kept" "$WORK/run.out"
is 1 "$MOONHOOK" table general seen get mh-caller
[ "$("$MOONHOOK" table general seen get "mh-caller calls")" -gt 1 ] || die "no calls are counted"
detach
sed -n '/^kept/,/a structure.* cannot be kept/p' "$WORK/run.out" | sed 's/^.*general.lua:[0-9]*: //' >"$WORK/said"
cat >"$WORK/expected" <<'TEXT'
kept	known	pid=true comm=true	true
'event' has no field 'nothing'
'task_struct' has no field 'nothing'
attempt to get length of a data value (upvalue 'e')
attempt to get length of a structure value (upvalue 'task')
'event' has no field '1'
'task_struct' has no field '1'
packets are read only at this hook
packets are read only at this hook
the text of an event is not possible at packet time
the text of a structure is not possible at packet time
attempt to perform arithmetic on a structure value (upvalue 'task')
an event cannot be kept from packet to packet
bad value for table 'seen' (int expected, got userdata)
a structure of the kernel's cannot be kept from packet to packet
TEXT
diff "$WORK/expected" "$WORK/said" || die "something else is said"

# Handlers that interrupt one another on a CPU, and make strings and tables meanwhile, each in memory of its own: none is disturbed, and no
# call is lost.
cat >"$WORK/nested.lua" <<'LUA'
local trace = require "trace"
local counts = map { key = "string:32", value = "int", capacity = 100 }
local function built(n, text)
  if n == 0 then return text end
  return built(n - 1, text .. string.char(97 + n % 26))
end
local expected = built(40, "")
local function work(name, e)
  local parts = {}
  for i = 1, 8 do parts[i] = { text = built(40, ""), task = e.task } end
  for _, part in ipairs(parts) do
    if part.text ~= expected or part.task ~= e.task or part.task.pid ~= e.tid then name = "disturbed" end
  end
  counts[name] = (counts[name] or 0) + 1
end
trace.on("raw_tp/sys_enter", function(e)
  if e.comm == "mh-caller" and (e.id == 110 or e.id == 173) then work("calls", e) end
end)
trace.on("tp/raw_syscalls/sys_exit", function(e)
  if e.comm == "mh-caller" and (e.id == 110 or e.id == 173) then work("returns", e) end
end)
for _, name in ipairs { "sched_switch", "softirq_entry", "irq_handler_entry", "hrtimer_expire_entry" } do
  trace.on("raw_tp/" .. name, function(e) work("interruptions", e) end)
end
LUA
attach "$WORK/nested.lua" --name nested
callers=()
for _ in 1 2 3; do
    calls 10000 &
    callers+=($!)
done
wait "${callers[@]}"
is 30000 "$MOONHOOK" table nested counts get calls
is 30000 "$MOONHOOK" table nested counts get returns
[ "$("$MOONHOOK" table nested counts get interruptions)" -gt 100 ] || die "nothing was interrupted"
fails 1 "$MOONHOOK" table nested counts get disturbed
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
for form in expanded general; do
    attach "$WORK/fails.lua" --name fails --form $form
    calls 1
    eventually "errors are told" grep -qs 'fails.lua:2: call [0-9]' "$WORK/run.err" "$WORK/run.out"
    detach
done

others_load "$WORK/trace.lua"

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
    ! grep -q -- "--form expanded" "$WORK/fails.err" || die "$value: no form can do it: $(cat "$WORK/fails.err")"
done
refused MH0030 "get no packets" 'require("trace").on("raw_tp/sys_enter", function() end)' bench "$WORK/refused.lua"
echo ok
