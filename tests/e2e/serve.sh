#!/usr/bin/env bash
# `moonhook serve` as a process: few privileges, commands by `--remote`, pins, a socket that is given, an end that leaves nothing.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin serve
need_bpffs
local_pair
ip -n "$NETNS" link set lo up
mkdir "$WORK/scripts"
cat >"$WORK/scripts/count.lua" <<'LUA'
local hits = map{key = "int", value = "int", capacity = 100}
require("xdp").attach(function(pkt)
  local udp = pkt.udp
  if udp and udp.dport == 7001 then
    hits[1] = (hits[1] or 0) + 1
    return 1
  end
end)
LUA
echo 'interfaces = ["right0"]' >"$WORK/scripts/count.toml"

# within COMMAND…: in the namespace, with the file systems of here.
within() {
    nsenter --net="/run/netns/$NETNS" "$@"
}

# served OPTION…: a service as process RUN, at the address URL.
served() {
    rm -f "$WORK/serve.err"
    nsenter --net="/run/netns/$NETNS" "$MOONHOOK" serve --listen 127.0.0.1:0 --state "$WORK/state" --scripts "${SCRIPTS:-$WORK/scripts}" --bpffs "$BPFFS" "$@" \
        >"$WORK/serve.out" 2>"$WORK/serve.err" </dev/null &
    RUN=$!
    eventually "the service listens" grep -qs '^listening at ' "$WORK/serve.err"
    URL=http://$(sed -n 's/^listening at //p' "$WORK/serve.err")
    eventually "the script is attached, or is not" grep -qs "${ATTACHED:-attached to}" "$WORK/serve.err"
}

remote() {
    local command=$1
    shift
    within "$MOONHOOK" "$command" "$@" --remote "$URL"
}

attached() {
    ip -n "$NETNS" -j link show dev right0 | jq '.[0].xdp.prog.id // empty'
}

send() {
    ip netns exec "$NETNS" bash -c 'echo x >/dev/udp/192.0.2.2/7001'
}

counted() {
    [ "$(remote table count hits get 1)" = "$1" ]
}

# left PATH…: nothing is there.
left() {
    [ -z "$(find "$@" -mindepth 1 ! -name lock 2>/dev/null)" ] || die "left behind: $(find "$@")"
}

echo "three capabilities are kept"
served
[ "$(sed -n 's/^CapEff:\t//p' "/proc/$RUN/status")" = 000000c000001000 ] || die "it has others: $(grep Cap "/proc/$RUN/status")"

echo "commands reach its scripts by --remote, and as any script of this machine"
send
eventually "the packet is counted" counted 1
[ "$(remote list --json | jq -r '.[0].name')" = count ] || die "it is not listed"
[ "$("$MOONHOOK" list --json | jq -r '.[0].name')" = count ] || die "it is not listed here"
remote reload count >"$WORK/reload.out"
grep -q '^  table hits: kept$' "$WORK/reload.out" || die "$(cat "$WORK/reload.out")"
printf '1,7\n2,8\n' >"$WORK/hits.csv"
remote table count hits load "$WORK/hits.csv" >/dev/null
counted 7 || die "the list is not there"
echo "x = = 1" >"$WORK/bad.lua"
fails 1 remote reload count "$WORK/bad.lua"
fails 3 remote stop none
grep -q 'error\[MH1005\]' "$WORK/fails.err" || die "$(cat "$WORK/fails.err")"
fails 3 within "$MOONHOOK" list --remote http://127.0.0.1:1
grep -q 'error\[MH1014\]' "$WORK/fails.err" || die "$(cat "$WORK/fails.err")"
is 7 remote exec count -e 'hits[1]'
fails 1 remote exec count -e 'error("no")'

echo "events are followed from elsewhere, until the script ends"
cat >"$WORK/flows.lua" <<'LUA'
local flow = require "flow"
local ports = flow.new{key = "dport", capacity = 10, default = function(pkt) end}
require("xdp").attach(ports)
LUA
remote reload count "$WORK/flows.lua" >/dev/null
remote events count --json >"$WORK/events.out" &
PIDS+=($!)
eventually "events are followed" grep -qs '"watching"' "$WORK/events.out"
echo 'function(pkt) print("port " .. pkt.udp.dport) end' >"$WORK/shout.lua"
remote flow count set 7001 "$WORK/shout.lua" >/dev/null
remote flow count list | grep -q 7001 || die "the flow is not listed"
send
eventually "what handlers print is told" grep -q '"port 7001"' "$WORK/events.out"
remote flow count delete 7001
fails 1 remote flow count get 7001
remote reload count "$WORK/scripts/count.lua" >/dev/null
eventually "reloads are told" grep -q '"reloaded"' "$WORK/events.out"

echo "SIGTERM ends it, and nothing is left"
finish
wait "${PIDS[-1]}" || die "who followed events was cut off"
unset 'PIDS[-1]'
[ -z "$(attached)" ] || die "a program is attached"
left "$BPFFS" "$WORK/run" "$WORK/state"

echo "with --pin, packets are counted while it is gone"
served --pin
send
eventually "the packet is counted" counted 1
kill -KILL "$RUN"
wait "$RUN" 2>/dev/null || true
RUN=''
[ -n "$(attached)" ] || die "the program is gone"
send
served --pin
grep -q 'in the place of what was pinned' "$WORK/serve.err" || die "$(cat "$WORK/serve.err")"
eventually "both are counted" counted 2
remote stop count >/dev/null
[ -z "$(attached)" ] || die "after stop a program is attached"
finish
left "$BPFFS" "$WORK/run"

echo "scripts are in other network namespaces, with one capability more that is not in effect"
namespace OTHER other
ip -n "$OTHER" link add there0 type veth peer name there1
mkdir "$WORK/elsewhere"
echo 'require("xdp").attach(function(pkt) return end)' >"$WORK/elsewhere/there.lua"
printf 'interfaces = ["there0"]\nnetns = "%s"\n' "$OTHER" >"$WORK/elsewhere/there.toml"
there() { ip -n "$OTHER" -j link show dev there0 | jq '.[0].xdp.prog.id // empty'; }
SCRIPTS=$WORK/elsewhere served --enter-netns
for set in CapEff:000000c000001000 CapPrm:000000c000201000; do
    [ "$(sed -n "s/^${set%:*}:\t//p" "/proc/$RUN/status")" = "${set#*:}" ] || die "it has others: $(grep Cap "/proc/$RUN/status")"
done
[ -n "$(there)" ] || die "no program is attached there"
remote reload there >/dev/null
# No thread keeps it in effect.
effective() { cat "/proc/$RUN/task/"*/status 2>/dev/null | sed -n 's/^CapEff:\t//p' | sort -u; }
is 000000c000001000 effective
finish
[ -z "$(there)" ] || die "a program is attached there"
ATTACHED='^there: entering' SCRIPTS=$WORK/elsewhere served
grep -q '^there: .*CAP_SYS_ADMIN' "$WORK/serve.err" || die "$(cat "$WORK/serve.err")"
[ -z "$(there)" ] || die "a program is attached there"
finish

echo "a socket that is given is listened at"
rm -f "$WORK/serve.out" "$WORK/serve.err"
nsenter --net="/run/netns/$NETNS" python3 -c '
import os, socket, sys
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
os.dup2(listener.fileno(), 3)
os.set_inheritable(3, True)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
os.execv(sys.argv[1], sys.argv[1:])' \
    "$MOONHOOK" serve --state "$WORK/state" --scripts "$WORK/scripts" --bpffs "$BPFFS" \
    >"$WORK/serve.out" 2>"$WORK/serve.err" </dev/null &
RUN=$!
eventually "the service listens" grep -qs '^count: attached' "$WORK/serve.err"
URL=http://127.0.0.1:$(cat "$WORK/serve.out")
[ "$(remote list --json | jq length)" = 1 ] || die "it does not answer there"
finish

if have openssl; then
    echo "calls are encrypted, and need the token"
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=localhost \
        -addext subjectAltName=IP:127.0.0.1 -addext basicConstraints=critical,CA:FALSE -keyout "$WORK/key.pem" -out "$WORK/cert.pem" 2>/dev/null
    echo secret >"$WORK/token"
    served --tls-cert "$WORK/cert.pem" --tls-key "$WORK/key.pem" --token "$WORK/token"
    URL=${URL/http:/https:}
    [ "$(remote list --json --ca "$WORK/cert.pem" --token "$WORK/token" | jq length)" = 1 ] || die "it does not answer"
    fails 3 remote list --ca "$WORK/cert.pem"
    grep -q 'error\[MH1013\]' "$WORK/fails.err" || die "$(cat "$WORK/fails.err")"
    fails 3 remote list --token "$WORK/token"
    grep -q 'error\[MH1014\]' "$WORK/fails.err" || die "$(cat "$WORK/fails.err")"
    finish
fi
left "$BPFFS" "$WORK/run"
