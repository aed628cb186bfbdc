#!/usr/bin/env bash
# The units of contrib/: systemd takes every line of them, a socket that it gives is listened at, and with no more privileges than the unit leaves
# a script is attached. Without systemd as the first process.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin units
have systemd-analyze && have systemd-socket-activate || skip "systemd is not installed"
have setpriv || skip "setpriv is not installed"
local_pair
ip -n "$NETNS" link set lo up

# setting NAME: what the unit says of it.
setting() {
    sed -n "s/^$1=//p" "$REPO/contrib/moonhook.service"
}

echo "systemd understands every line"
mkdir "$WORK/units"
cp "$REPO/contrib/moonhook.socket" "$WORK/units"
# The command that is tested need not be installed.
sed "s#^ExecStart=/usr/bin/moonhook #ExecStart=$MOONHOOK #" "$REPO/contrib/moonhook.service" >"$WORK/units/moonhook.service"
grep -q "^ExecStart=$MOONHOOK serve" "$WORK/units/moonhook.service" || die "the unit starts something else"
is '' systemd-analyze verify --man=no "$WORK/units/moonhook.service" "$WORK/units/moonhook.socket"
sed 's/^ListenStream=.*/ListenStreams=1/' "$REPO/contrib/moonhook.socket" >"$WORK/units/moonhook.socket"
[ -n "$(systemd-analyze verify --man=no "$WORK/units/moonhook.socket" 2>&1)" ] || die "it would not tell of a slip of the pen"

echo "a client starts the service, at the socket that it is given"
mkdir "$WORK/scripts"
echo 'require("xdp").attach(function(pkt) return end)' >"$WORK/scripts/pass.lua"
echo 'interfaces = ["right0"]' >"$WORK/scripts/pass.toml"
address=$(sed -n 's/^ListenStream=//p' "$REPO/contrib/moonhook.socket")
# `CAP_BPF CAP_NET_ADMIN` as setpriv(1) has it.
bounds=$(setting CapabilityBoundingSet | tr '[:upper:]' '[:lower:]' | sed 's/ *cap_/,+/g')
nsenter --net="/run/netns/$NETNS" setpriv --bounding-set="-all$bounds" --no-new-privs \
    systemd-socket-activate --listen="$address" --setenv="MOONHOOK_RUNTIME_DIR=$WORK/run" \
    "$MOONHOOK" serve --state "$WORK/state" --scripts "$WORK/scripts" >"$WORK/serve.out" 2>"$WORK/serve.err" </dev/null &
RUN=$!
eventually "the socket is there" grep -qs "Listening on" "$WORK/serve.err"
[ ! -e "$WORK/run/pass.sock" ] && ! grep -q '^listening at' "$WORK/serve.err" || die "nobody has asked for the service"
remote() { nsenter --net="/run/netns/$NETNS" "$MOONHOOK" "$@" --remote "http://$address"; }
remote list --json >"$WORK/list.out" || die "$(cat "$WORK/serve.err")"
grep -q "^listening at $address" "$WORK/serve.err" || die "it listens elsewhere: $(cat "$WORK/serve.err")"
eventually "the script is attached" grep -qs '^pass: attached to right0' "$WORK/serve.err"

echo "it keeps three capabilities, and gets no others back"
status() { sed -n "s/^$1:\t//p" "/proc/$RUN/status"; }
for set in CapEff CapPrm; do [ "$(status $set)" = 000000c000001000 ] || die "$set is $(status $set)"; done
for set in CapBnd CapInh CapAmb; do [ "$(status $set)" = 0000000000000000 ] || die "$set is $(status $set)"; done
[ "$(remote list --json | jq -r '.[].name')" = pass ] || die "the script does not run"
finish
[ -z "$(ip -n "$NETNS" -j link show dev right0 | jq '.[0].xdp.prog.id // empty')" ] || die "a program is attached"
