#!/usr/bin/env bash
# Loaders of eCLAT run where their script attaches them; what a script lists for a map is what is in force, behind reloads and where pins are taken
# over; and scripts that are pinned somewhere else are not said to be stopped.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin places
have clang || have clang-19 || skip "clang is not installed"
have python3 || skip "python3 is not installed"
need_bpffs
namespace LEFT left
namespace RIGHT right
address_of() { ip -n "$1" -j link show dev "$2" | jq -r '.[0].address'; }
# Two pairs, over which nobody has to ask for addresses.
for n in 0 1; do
    ip link add left$n netns "$LEFT" type veth peer name right$n netns "$RIGHT"
    ip -n "$LEFT" link set left$n up
    ip -n "$RIGHT" link set right$n up
    for family in "198.18.$n. 24" "fd00:$n:: 64"; do
        set -- $family
        ip -n "$LEFT" address add "${1}1/$2" dev left$n
        ip -n "$RIGHT" address add "${1}2/$2" dev right$n
        ip -n "$LEFT" neigh replace "${1}2" lladdr "$(address_of "$RIGHT" right$n)" dev left$n nud permanent
        ip -n "$RIGHT" neigh replace "${1}1" lladdr "$(address_of "$LEFT" left$n)" dev right$n nud permanent
    done
done

# The right side gives datagrams to port 7 back, of both families.
ip netns exec "$RIGHT" python3 -c '
import socket
with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as one:
    one.bind(("::", 7))
    print("listening", flush=True)
    while True:
        one.sendto(*one.recvfrom(2000))
' >"$WORK/echo.out" 2>"$WORK/echo.err" &
PIDS+=($!)
eventually "the right side listens" grep -qs listening "$WORK/echo.out"

answers() {
    ip netns exec "$LEFT" python3 -c '
import socket, sys
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
with socket.socket(family, socket.SOCK_DGRAM) as one:
    one.settimeout(1)
    one.connect((sys.argv[1], 7))
    one.send(b"x")
    one.recv(9)
' "$1" 2>/dev/null
}
silent() { ! answers "$1"; }
for address in 198.18.0.2 198.18.1.2 fd00:0::2 fd00:1::2; do eventually "$address answers" answers $address; done

# script INTERFACE ENTRIES: IPv4 is dropped at right0, and sources of IPv6 that are listed at that interface.
script() {
    cat <<ECLAT
from programs.basics import accept, drop
from programs.ip6 import prefix
from loaders.basics import ip4, ip6
prefix[prefixes] = { $2 }
ip4[chains] = { (0): (four) }
ip6[chains] = { (0): (six) }
ip4.attach('right0', 'xdp')
ip6.attach('$1', 'xdp')

def four():
    drop()

def six():
    if prefix(1) == 2:
        drop()
    accept()
ECLAT
}
OWN="(64, 'fd00:1::'): (1)" EVIL="(128, 'fd00:1::1'): (2)" OTHER="(128, 'fd00:1::7'): (2)"

for form in expanded general; do
    script right1 "$OWN, $EVIL" >"$WORK/a.eclat"
    attach "$WORK/a.eclat" --packages "$REPO/packages" --netns "$RIGHT" --form $form --name a
    eventually "198.18.1.2 answers, or else $form: the loader of right0 runs at right1" answers 198.18.1.2
    eventually "fd00:0::2 answers, or else $form: the loader of right1 runs at right0" answers fd00:0::2
    silent 198.18.0.2 || die "$form: the loader of right0 does not run"
    silent fd00:1::2 || die "$form: the loader of right1 does not run"
    script right1 "$OWN, $OTHER" >"$WORK/a.eclat"
    "$MOONHOOK" reload a >"$WORK/reload.out" || die "$(cat "$WORK/reload.out")"
    grep -q 'table prefixes: kept, 1 added, 1 removed' "$WORK/reload.out" || die "$(cat "$WORK/reload.out")"
    eventually "fd00:1::2 answers, or else $form: what is listed no more is in force" answers fd00:1::2
    silent 198.18.0.2 || die "$form: the loader of right0 does not run behind a reload"
    eventually "198.18.1.2 answers, or else $form: the loader of right0 runs at right1 behind a reload" answers 198.18.1.2
    finish
done

# A process that is gone has listed something; the next one takes over.
pinned() { attach "$WORK/a.eclat" --packages "$REPO/packages" --netns "$RIGHT" --name a --pin "$@"; }
script right1 "$OWN, $EVIL" >"$WORK/a.eclat"
pinned --bpffs "$BPFFS"
silent fd00:1::2 || die "the pinned program does not run"
end_processes "$RUN"
RUN=''
silent fd00:1::2 || die "the pinned program does not go on"
fails 3 "$MOONHOOK" stop a --bpffs "$BPFFS-other"
grep -q "is pinned in $BPFFS" "$WORK/fails.err" || die "$(cat "$WORK/fails.err")"
silent fd00:1::2 || die "the pinned program is gone"
fails 3 "$MOONHOOK" run "$WORK/a.eclat" --packages "$REPO/packages" --netns "$RIGHT" --name a --pin --bpffs "$BPFFS-other"
grep -q "is pinned in $BPFFS" "$WORK/fails.err" || die "$(cat "$WORK/fails.err")"
script right1 "$OWN" >"$WORK/a.eclat"
pinned --bpffs "$BPFFS"
eventually "fd00:1::2 answers, or else what was listed before is in force" answers fd00:1::2
grep -q 'table prefixes: kept, 1 removed' "$WORK/run.out" || die "$(cat "$WORK/run.out")"
"$MOONHOOK" stop a >/dev/null
eventually "198.18.0.2 answers, or else it was not stopped" answers 198.18.0.2
RUN=''
echo "loaders run where they are attached, and maps have what scripts list"
