#!/usr/bin/env bash
# examples/service_firewall.lua on a control group: its processes reach what the script names and nothing else, others reach all, over
# IPv4 and IPv6, by TCP and UDP, in both forms; and all that is done to a running script is done to one without an interface.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin service
have python3 || skip "python3 is not installed"
veth_pair
need_cgroup
need_bpffs

ip -n "$LEFT" address add 2001:db8::1/64 dev left0 nodad
ip -n "$RIGHT" address add 2001:db8::2/64 dev right0 nodad
ip -n "$RIGHT" link set lo up
sed "s|\"system.slice/shop.service\"|\"$CGROUP\"|" "$REPO/examples/service_firewall.lua" >"$WORK/shop.lua"

# Answers TCP and UDP, at ports that the service needs and at one that it does not.
ip netns exec "$RIGHT" python3 - >"$WORK/server.out" 2>"$WORK/server.err" <<'PYTHON' &
import packets

packets.reverse(packets.servers(["192.0.2.2", "2001:db8::2"], [53, 5432, 6000]))
PYTHON
PIDS+=($!)
eventually "the server listens" grep -qs listening "$WORK/server.out"

# ask: what can be reached of the server, in the order of its sockets: one letter each, of those that answer upper-case.
cat >"$WORK/ask.py" <<'PYTHON'
import socket

found = ""
for family, address in ((socket.AF_INET, "192.0.2.2"), (socket.AF_INET6, "2001:db8::2")):
    for port in (53, 5432, 6000):
        for kind, letter in ((socket.SOCK_STREAM, "t"), (socket.SOCK_DGRAM, "u")):
            with socket.socket(family, kind) as one:
                one.settimeout(1)
                try:
                    one.connect((address, port))
                    if kind == socket.SOCK_DGRAM:
                        one.send(b"x")
                        one.recv(10)
                    letter = letter.upper()
                except OSError:
                    pass
                found += letter
print(found)
PYTHON
ask() { ip netns exec "$LEFT" timeout 30 python3 "$WORK/ask.py"; }
ask_as_service() { in_cgroup ip netns exec "$LEFT" timeout 30 python3 "$WORK/ask.py"; }

# start OPTION…: runs the script and waits until it is attached.
start() {
    attach "$WORK/shop.lua" "$@"
    grep -q "^attached $WORK/shop.lua at cgroup.egress $CGROUP" "$WORK/run.out" || die "$(cat "$WORK/run.out")"
    eventually "moonhook run listens" test -e "$WORK/run/shop.sock"
}

listed() { "$MOONHOOK" list --json "$@" | jq -c '.[] | [.interface, .hook, .pinned, .packets > 0]'; }

is TUTUTUTUTUTU ask_as_service
for form in auto general; do
    start --form "$form"
    is TUTUtuTUtutu ask_as_service
    is TUTUTUTUTUTU ask
    is "[null,\"cgroup.egress $CGROUP\",false,true]" listed
    # What was refused is counted, a new version of the script keeps the counts.
    is 1 bash -c "'$MOONHOOK' table shop refused get 192.0.2.2 | grep -c '^[1-9]'"
    sed -i 's/\[53\] = "names", \[6000\]/[53] = "names"/; s/\[5432\] = "database"/[5432] = "database", [6000] = "mail"/' "$WORK/shop.lua"
    is 0 bash -c "'$MOONHOOK' reload shop >'$WORK/log' 2>&1; echo \$?"
    is TUTUTUTUtutu ask_as_service
    is 1 bash -c "'$MOONHOOK' table shop refused get 192.0.2.2 | grep -c '^[1-9]'"
    sed -i 's/, \[6000\] = "mail"//' "$WORK/shop.lua"
    detach
    is TUTUTUTUTUTU ask_as_service
done

# Pinned, it goes on without its process; the next one takes over.
start --pin --bpffs "$BPFFS"
kill -KILL "$RUN"
wait "$RUN" 2>/dev/null || true
is TUTUtuTUtutu ask_as_service
is "[null,\"cgroup.egress $CGROUP\",true,true]" listed --bpffs "$BPFFS"
start --pin --bpffs "$BPFFS"
detach
is TUTUtuTUtutu ask_as_service
"$MOONHOOK" stop shop --bpffs "$BPFFS"
is TUTUTUTUTUTU ask_as_service

# A group that is not there, and one that goes.
sed "s|$CGROUP|$CGROUP-none|" "$WORK/shop.lua" >"$WORK/none.lua"
fails 3 "$MOONHOOK" run "$WORK/none.lua"
is 1 grep -c "^error.MH0526.: there is no control group $CGROUP-none" "$WORK/fails.err"
start
rmdir "$CGROUP"
eventually "moonhook run ends" grep -qs "^error.MH0007.: the control group '$CGROUP' is gone" "$WORK/run.err"
detach
mkdir "$CGROUP"
