#!/usr/bin/env bash
# Rules of iptables, of both kinds, ask a script: they follow a reload, find nothing when it has ended, and are found again by a script that
# was killed.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin match
have python3 || skip "python3 is not installed"
need_bpffs
local_pair
ip -n "$NETNS" link set lo up

cat >"$WORK/guard.lua" <<'LUA'
local match = require "match"
local blocked = map { key = "int", value = "boolean" }
blocked[7001] = true
match.attach(function(pkt) return pkt.udp and blocked[pkt.udp.dport] end)
match.attach("odd", function(pkt) return pkt.udp ~= nil and pkt.udp.sport % 2 == 1 end)
LUA

# send: which of the datagrams to these ports the sender may send, and which not.
cat >"$WORK/send.py" <<'PYTHON'
import socket

found = ""
for port in (7001, 7002, 7003):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.bind(("192.0.2.1", 6000))
        try:
            one.sendto(b"x", ("192.0.2.2", port))
            found += "+"
        except PermissionError:
            found += "-"
print(found)
PYTHON
send() { ip netns exec "$NETNS" python3 "$WORK/send.py"; }

# rules KIND OPTION…: the rules that `moonhook rule` prints, for that kind of iptables. What `ip netns exec` does hides the pins.
rules() {
    local kind=$1
    shift
    "$MOONHOOK" rule guard --chain OUTPUT --bpffs "$BPFFS" "$@" | sed "s/^iptables/$kind/" \
        | nsenter --net="/run/netns/$NETNS" bash -e
}

for kind in iptables-legacy iptables-nft; do
    have "$kind" || skip "$kind is not installed"
    for form in expanded general; do
        is '+++' send
        attach "$WORK/guard.lua" --bpffs "$BPFFS" --form "$form"
        grep -q "match ($BPFFS/guard/match), match odd ($BPFFS/guard/match-odd)" "$WORK/run.out" || die "$(cat "$WORK/run.out")"
        rules "$kind" >"$WORK/rules.out" 2>&1 || skip "$kind cannot have such rules: $(cat "$WORK/rules.out")"
        is '-++' send
        "$MOONHOOK" table guard blocked set 7002 true
        is '--+' send
        sed 's/7001/7003/' "$WORK/guard.lua" >"$WORK/other.lua"
        "$MOONHOOK" reload guard "$WORK/other.lua" >"$WORK/reload.out"
        # The table was kept.
        "$MOONHOOK" table guard blocked set 7003 true
        is '---' send
        # A process that is killed leaves rules that find nothing, and is found by them when it is there again.
        kill -KILL "$RUN"
        wait "$RUN" 2>/dev/null || true
        is '+++' send
        is 'match, incomplete' eval "'$MOONHOOK' list --bpffs '$BPFFS' | grep -o 'match, incomplete'"
        attach "$WORK/guard.lua" --bpffs "$BPFFS" --form "$form"
        is '-++' send
        is 2 grep -c . <("$MOONHOOK" rule guard --bpffs "$BPFFS" --json)
        detach
        is '+++' send
        [ ! -e "$BPFFS/guard" ] || die "left behind: $(ls "$BPFFS/guard")"
        # Pinned, it goes on without a process, and the next one takes over.
        attach "$WORK/guard.lua" --bpffs "$BPFFS" --form "$form" --pin
        nsenter --net="/run/netns/$NETNS" "$kind" -F
        rules "$kind" >"$WORK/rules.out" 2>&1
        kill -KILL "$RUN"
        wait "$RUN" 2>/dev/null || true
        is '-++' send
        attach "$WORK/other.lua" --name guard --bpffs "$BPFFS" --form "$form" --pin
        is '-++' send
        "$MOONHOOK" table guard blocked set 7003 true
        is '-+-' send
        detach
        is '-+-' send
        "$MOONHOOK" stop guard --bpffs "$BPFFS" >"$WORK/stop.out"
        is '+++' send
        [ ! -e "$BPFFS/guard" ] || die "left behind: $(ls "$BPFFS/guard")"
        nsenter --net="/run/netns/$NETNS" "$kind" -F
    done
done
fails 3 "$MOONHOOK" rule guard --bpffs "$BPFFS"
grep -q MH0028 "$WORK/fails.err" || die "$(cat "$WORK/fails.err")"
