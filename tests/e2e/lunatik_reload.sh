#!/usr/bin/env bash
# Reloads of scripts for Lunatik that take handlers away, and bring them again: in the kernel and in queues, by both commands. Where scripts may have none (`--control`) nothing
# is attached meanwhile, which is said; elsewhere, and where something is pinned, such a reload is refused, and what was there decides on. Nothing is left behind.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin lunatik_reload
have python3 || skip "python3 is not installed"
need_bpffs
namespace NETNS one
ip -n "$NETNS" link set lo up
# As `ip netns exec`, which hides pins.
IN=(nsenter --net="/run/netns/$NETNS")
mkdir "$WORK/root" "$WORK/versions"
# What goes on in the background is nobody's child.
leave() {
    local status=$?
    trap - EXIT
    "$MOONHOOK" stop background >"$WORK/log" 2>&1 || true
    (exit "$status") || clean_up
    clean_up
}
trap leave EXIT

handler() {
    cat <<LUA
local netfilter, nf = require("netfilter"), require("linux.nf")
netfilter.register { hook = function(skb)
  local packet = skb:data()
  $1
  return packet:getuint8(9) == 17 and nf.action.DROP or nf.action.ACCEPT
end, pf = nf.proto.IPV4, hooknum = nf.inet.LOCAL_IN, priority = 7 }
LUA
}
handler '' >"$WORK/versions/kernel"
handler 'packet:setuint8(1, packet:getuint8(1))' >"$WORK/versions/queue"
echo 'local netfilter = require("netfilter") print("no handlers")' >"$WORK/versions/none"
echo 'return 1 +' >"$WORK/versions/broken"
cat >"$WORK/versions/service" <<'LUA'
local linux, thread = require("linux"), require("thread")
return function() while not thread.shouldstop() do linux.schedule(20) end end
LUA
# becomes VERSION: what stands in the script's file.
becomes() { cp "$WORK/versions/$1" "$WORK/root/${NAMED:-filter}.lua"; }

# arrives: whether a datagram arrives.
cat >"$WORK/arrives.py" <<'PYTHON'
import socket

with socket.socket(type=socket.SOCK_DGRAM) as to, socket.socket(type=socket.SOCK_DGRAM) as one:
    to.bind(("127.0.0.1", 7000))
    to.settimeout(0.3)
    one.sendto(b"x", to.getsockname())
    try:
        print("yes" if to.recv(10) == b"x" else "changed")
    except TimeoutError:
        print("no")
PYTHON
arrives() { "${IN[@]}" timeout 10 python3 "$WORK/arrives.py"; }
queues() { "${IN[@]}" cat /proc/net/netfilter/nfnetlink_queue | wc -l; }
# What the process has attached in the kernel, and the tables of nf_tables that lead to queues.
links() { find "/proc/$1/fd" -lname 'anon_inode:bpf*link*' | wc -l; }
none_queued() { [ "$(queues)" = 0 ]; }
nothing_attached() {
    is 0 links "$1"
    # A queue answers what waits in it before it goes.
    eventually "queues go" none_queued
    ! have nft || is '' "${IN[@]}" nft list ruleset
}
# again NAME OPTION…: a reload that has to succeed, with what it says.
again() { "$MOONHOOK" reload "$@" >"$WORK/again.out" 2>&1 || die "$(cat "$WORK/again.out")"; }
gone='  nothing is attached any more: there are no handlers'
# started VERSION OPTION…: the script runs.
started() {
    becomes "$1"
    rm -f "$WORK/run.out"
    "${IN[@]}" "$MOONHOOK" run "$WORK/root/filter.lua" --root "$WORK/root" "${@:2}" >"$WORK/run.out" 2>"$WORK/run.err" </dev/null &
    RUN=$!
    eventually "the script runs" runs_here
}
runs_here() { "$MOONHOOK" list --json | grep -q '"filter"'; }

is yes arrives
for version in kernel queue; do
    # Without `--control` a script has handlers: what has none does not replace one that has.
    started $version
    is no arrives
    becomes none
    fails 1 "$MOONHOOK" reload filter
    grep -q 'MH0104.*filter.lua registers no handler' "$WORK/fails.err" || die "$(cat "$WORK/fails.err")"
    is no arrives
    becomes $version
    again filter
    is no arrives
    nothing_said() { ! grep -q "nothing is attached" "$WORK/again.out" "$WORK/run.out"; }
    nothing_said || die "$(cat "$WORK/again.out" "$WORK/run.out")"
    finish
    is yes arrives

    # With it, handlers may go and come again.
    started $version --control
    is no arrives
    becomes none
    again filter
    grep -qxF "$gone" "$WORK/again.out" || die "$(cat "$WORK/again.out")"
    eventually "it is said where the script runs" grep -qxF "$gone" "$WORK/run.out"
    nothing_attached "$RUN"
    is yes arrives
    becomes broken
    fails 1 "$MOONHOOK" reload filter
    is yes arrives
    becomes $version
    again filter
    ! grep -q 'nothing is attached' "$WORK/again.out" || die "$(cat "$WORK/again.out")"
    is no arrives
    # Programs tell so, too; only when there was something.
    becomes none
    "$MOONHOOK" reload filter --json | python3 -c 'import json, sys; assert json.load(sys.stdin)["detached"] is True'
    "$MOONHOOK" reload filter --json | python3 -c 'import json, sys; assert "detached" not in json.load(sys.stdin)'
    nothing_attached "$RUN"
    becomes $version
    again filter
    is no arrives
    finish
    # All three counted, and no verdicts that nobody has given.
    grep -qE '^final counters: DROP 3, ACCEPT 0,( QUEUE 0,)? errors 0, lost events 0$' "$WORK/run.out" || die "$(tail -n 1 "$WORK/run.out")"
    is yes arrives
done

# A handler that moves between the kernel and a queue is told of, with the line that moves it, by the command and where the script runs.
place='netfilter ipv4 LOCAL_IN 7'
started kernel
for way in there again; do
    becomes queue
    again filter
    queued=$(grep -E "^  $place runs as NFQUEUE because .*filter.lua:4 writes to the packet" "$WORK/again.out") || die "$way: $(cat "$WORK/again.out")"
    eventually "it is said where the script runs" grep -qxF "$queued" "$WORK/run.out"
    is no arrives
    becomes kernel
    again filter
    grep -qxF "  $place runs in the kernel, and not as NFQUEUE any more" "$WORK/again.out" || die "$way: $(cat "$WORK/again.out")"
    is no arrives
done
again filter
! grep -q NFQUEUE "$WORK/again.out" || die "$(cat "$WORK/again.out")"
becomes queue
"$MOONHOOK" reload filter --json | python3 -c 'import json, sys; [place] = json.load(sys.stdin)["queued"]; assert place["point"] == sys.argv[1] and ":4 " in place["why"], place' "$place"
becomes kernel
"$MOONHOOK" reload filter --json | python3 -c 'import json, sys; told = json.load(sys.stdin); assert told["unqueued"] == sys.argv[1:] and "queued" not in told, told' "$place"
finish

# A script that has none at first gets some; one whose functions go on is not replaced (MH0037).
started none --control
nothing_attached "$RUN"
becomes kernel
again filter
is no arrives
becomes service
again filter
grep -qxF "$gone" "$WORK/again.out" || die "$(cat "$WORK/again.out")"
nothing_attached "$RUN"
becomes kernel
fails 1 "$MOONHOOK" reload filter
grep -q MH0037 "$WORK/fails.err" || die "$(cat "$WORK/fails.err")"
finish
is yes arrives

# What is pinned stays so.
pins() { find "$BPFFS" -type f 2>/dev/null | sed 's/map-.*/map/' | sort | tr '\n' ' '; }
started kernel --control --pin --bpffs "$BPFFS"
is no arrives
pinned=$(pins)
for version in none queue; do
    becomes $version
    fails 1 "$MOONHOOK" reload filter
    grep -q "MH0038.*nothing of 'filter' can be pinned" "$WORK/fails.err" || die "$(cat "$WORK/fails.err")"
    is no arrives
    is "$pinned" pins
    is 0 queues
done
becomes kernel
again filter
is no arrives
is "$pinned" pins
kill -KILL "$RUN"
wait "$RUN" 2>/dev/null || true
RUN=''
is no arrives
# Neither does another process take the place that has nothing to pin.
for version in none queue; do
    becomes $version
    fails 1 "${IN[@]}" "$MOONHOOK" run "$WORK/root/filter.lua" --root "$WORK/root" --control --pin --bpffs "$BPFFS"
    grep -q MH0038 "$WORK/fails.err" || die "$(cat "$WORK/fails.err")"
    is no arrives
    is "$pinned" pins
done
"$MOONHOOK" stop filter --bpffs "$BPFFS" >"$WORK/stop.out"
is yes arrives
is '' pins
[ ! -e "$WORK/run/filter.json" ] || die "it is noted still"
fails 1 "${IN[@]}" "$MOONHOOK" run "$WORK/root/filter.lua" --root "$WORK/root" --pin --bpffs "$BPFFS"
is '' pins
[ ! -e "$BPFFS/filter" ] && [ ! -e "$WORK/run/filter.json" ] || die "something is left of what was refused"

# In the background, by Lunatik's commands.
lunatik() { "${IN[@]}" "$MOONHOOK" lunatik "$@"; }
NAMED=background
becomes kernel
lunatik run background softirq --root "$WORK/root" --log-folder "$WORK/logs"
is no arrives
becomes none
lunatik reload background
process=$("$MOONHOOK" list --json | python3 -c 'import json, sys; print([one["pid"] for one in json.load(sys.stdin) if one["name"] == "background"][0])')
nothing_attached "$process"
is yes arrives
grep -qxF "$gone" "$WORK/logs/background.log" || die "$(cat "$WORK/logs/background.log")"
lunatik list | grep -q '^background ' || die "it is not listed"
becomes kernel
lunatik reload background
is no arrives
lunatik stop background
is yes arrives
is '[]' "$MOONHOOK" list --json
