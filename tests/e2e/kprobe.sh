#!/usr/bin/env bash
# Handlers at functions of the kernel see each call and each result: arguments by their names, structures that they point to, texts; both
# forms see the same; reloads and pins; objects that other loaders take; functions that cannot be probed are refused, and nothing is left
# behind. On a kernel without kprobes all of it is refused, and said why.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin kprobe
have python3 || skip "python3 is not installed"
[ -r /sys/kernel/btf/vmlinux ] || skip "the kernel tells nothing of its types"

# refused CODE TEXT SCRIPT ARGUMENT…: the command refuses the script, and says so. It ends with STATUS, or 1.
refused() {
    local code=$1 text=$2
    echo "$3" >"$WORK/refused.lua"
    shift 3
    fails "${STATUS:-1}" "$MOONHOOK" "$@"
    grep -q "$code.*$text" "$WORK/fails.err" || die "$(cat "$WORK/fails.err")"
}

if [ ! -e /sys/bus/event_source/devices/kprobe ]; then
    for name in kprobe/tcp_v4_connect kretprobe/tcp_v4_connect; do
        for command in check run "build -o $WORK/refused.o"; do
            refused MH0117 "'$name' cannot be traced: this kernel has no kprobes" "require('trace').on('$name', print)" $command "$WORK/refused.lua"
            grep -q "help: use a tracepoint" "$WORK/fails.err" || die "$(cat "$WORK/fails.err")"
        done
    done
    echo ok
    exit
fi

need_bpffs
namespace NETNS one
ip -n "$NETNS" link set lo up
case "$(uname -m)" in
x86_64) CALL=__x64_sys_getpgid FIRST=di ;;
aarch64) CALL=__arm64_sys_getpgid FIRST='regs[0]' ;;
*) skip "system calls of $(uname -m) have other names" ;;
esac

# What opens a file by its name has had two names.
OPEN=do_filp_open
grep -aqw "$OPEN" /sys/kernel/btf/vmlinux || OPEN=do_file_open

# The kernel's list of probes, but for addresses, which may be hidden.
mkdir "$WORK/debug"
probes() {
    unshare --mount sh -c 'mount -t debugfs none "$0" && cat "$0/kprobes/list"' "$WORK/debug" | awk '{ print $2, $3 }' | sort
}
probes >"$WORK/probes"
nothing_is_left() {
    eventually "the kernel's probes are as before" eval 'probes | diff - "$WORK/probes" >/dev/null'
}

# The process that the handlers look for: so many calls and connections, of which as many again go where there is no way to.
caller() { ip netns exec "$NETNS" python3 -c '
import os, socket, sys
open("/proc/self/comm", "w").write("mh-caller")
calls, connections, file = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
for _ in range(calls): os.getpgid(os.getpid())
for address in ("127.0.0.1", "203.0.113.1"):
    for _ in range(connections):
        with socket.socket() as one: one.connect_ex((address, 9))
os.close(os.open(file, os.O_RDONLY))
try: os.open(file + ".none", os.O_RDONLY)
except OSError: pass
' "$1" "$2" "$WORK/file"; }
echo text >"$WORK/file"

cat >"$WORK/probe.lua" <<LUA
local file, number = "$WORK/file", $(stat -c %i "$WORK/file")
local getpgid, open = "$CALL", "$OPEN"
local function first(regs) return regs.$FIRST end
LUA
cat >>"$WORK/probe.lua" <<'LUA'
local trace = require "trace"
local counts = map { key = "string:32", value = "int", capacity = 100 }
local function count(what, by)
  counts[what] = (counts[what] or 0) + by
end
trace.on("kprobe/" .. getpgid, function(e)
  if e.comm == "mh-caller" and first(e.regs) == e.pid then count("calls", 1) end
end)
trace.on("kretprobe/" .. getpgid, function(e)
  if e.comm == "mh-caller" and e.ret > 0 then count("returns", 1) end
end)
trace.on("kprobe/tcp_v4_connect", function(e)
  if e.comm ~= "mh-caller" then return end
  count("connects", 1)
  count("length", e.addr_len)
  if e.uaddr.sa_family == 2 and e.sk.__sk_common.skc_family == 2 then count("ipv4", 1) end
end)
trace.on("kretprobe/tcp_v4_connect", function(e)
  if e.comm == "mh-caller" then count("result " .. e.ret, 1) end
end)
trace.on("kprobe/" .. open, function(e)
  local name = e.pathname.name
  if e.comm == "mh-caller" and (name == file or name == file .. ".none") then print("open", e.dfd, name, e.pid == e.tid) end
end)
trace.on("kretprobe/" .. open, function(e)
  local inode = e.ret.f_inode
  if e.comm == "mh-caller" and inode and inode.i_ino == number then print("opened", type(e.ret), inode.i_size) end
end)
LUA
counted() { "$MOONHOOK" table probe counts get "$1" || true; }

for form in expanded general; do
    attach "$WORK/probe.lua" --form $form --name probe
    caller 1000 40
    is 1000 counted calls
    is 1000 counted returns
    is 80 counted connects
    is 1280 counted length
    is 80 counted ipv4
    is 40 counted "result 0"
    is 40 counted "result -101"
    eventually "the result is seen" grep -qs "^opened	userdata	5" "$WORK/run.out"
    grep -q "^open	-100	$WORK/file	true" "$WORK/run.out" || die "$(cat "$WORK/run.out" "$WORK/run.err")"
    grep -q "^open	-100	$WORK/file.none	true" "$WORK/run.out" || die "$(cat "$WORK/run.out")"
    [ "$(grep -c ^opened "$WORK/run.out")" = 1 ] || die "$(cat "$WORK/run.out")"
    "$MOONHOOK" list | grep -q "kprobe/$CALL, kretprobe/$CALL, kprobe/tcp_v4_connect" || die "$("$MOONHOOK" list)"

    # A reload keeps tables; the new handler is there alone.
    sed 's/count("calls", 1)/count("calls", 10)/' "$WORK/probe.lua" >"$WORK/ten.lua"
    "$MOONHOOK" reload probe "$WORK/ten.lua" >/dev/null
    caller 100 1
    is 2000 counted calls
    is 1100 counted returns
    detach
    grep -q "errors 0" "$WORK/run.err" "$WORK/run.out" || die "$(cat "$WORK/run.err")"
    nothing_is_left
done

# What is taken back is not there.
{ cat "$WORK/probe.lua" && echo 'trace.detach() trace.on("kprobe/" .. getpgid, function(e)
  if e.comm == "mh-caller" then error("call of " .. e.comm) end end)'; } >"$WORK/fails.lua"
for form in expanded general; do
    attach "$WORK/fails.lua" --name fails --form $form
    ! "$MOONHOOK" list | grep tcp_v4_connect || die "it is attached all the same"
    caller 1 1
    eventually "errors are told" grep -qs 'fails.lua:[0-9]*: call of mh-caller' "$WORK/run.err" "$WORK/run.out"
    detach
done

# A process that is killed leaves nothing, unless it was pinned.
for pin in "" "--pin"; do
    attach "$WORK/probe.lua" --name probe --bpffs "$BPFFS" $pin
    kill -KILL "$RUN"
    detach 2>/dev/null
    [ -n "$pin" ] || { [ ! -e "$BPFFS/probe" ] && nothing_is_left; } || die "a pin is left"
done
for link in "kprobe@$CALL" kretprobe@tcp_v4_connect; do
    [ -e "$BPFFS/probe/link-$link" ] || die "$link is not pinned: $(ls "$BPFFS/probe")"
done
caller 100 1
attach "$WORK/probe.lua" --name probe --bpffs "$BPFFS" --pin
is 100 counted calls
caller 50 1
is 150 counted calls
is 150 counted returns
detach
"$MOONHOOK" stop probe --bpffs "$BPFFS" >/dev/null
[ ! -e "$BPFFS/probe" ] || die "pins are left"
nothing_is_left

others_load "$WORK/probe.lua"

# A function that the kernel describes, and lets nobody in: nothing of the script stays.
for kind in kprobe kretprobe; do
    STATUS=3 refused MH0533 "'$kind/notify_die' cannot be handled: .* no probes" "local trace = require 'trace'
        trace.on('kprobe/tcp_v4_connect', function() end) trace.on('$kind/notify_die', function() end)" run "$WORK/refused.lua"
    [ ! -e "$MOONHOOK_RUNTIME_DIR/refused" ] || die "something runs"
    nothing_is_left
done
refused MH0115 "no function 'kprobe/tcp_v4_conect'" 'require("trace").on("kprobe/tcp_v4_conect", print)' check "$WORK/refused.lua"
grep -q "tcp_v4_connect" "$WORK/fails.err" || die "$(cat "$WORK/fails.err")"
for name in kprobe/tcp_v4_connect:addr_lenn kprobe/tcp_v4_connect:ret kretprobe/tcp_v4_connect:addr_len kretprobe/tcp_close:ret; do
    refused MH0211 "no field '${name#*:}'" "require('trace').on('${name%:*}', function(e) return e.${name#*:} end)" check "$WORK/refused.lua"
done
refused MH0030 "get no packets" 'require("trace").on("kprobe/tcp_v4_connect", function() end)' bench "$WORK/refused.lua"
echo ok
