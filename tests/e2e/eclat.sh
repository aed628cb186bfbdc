#!/usr/bin/env bash
# examples/ddos_two_levels.eclat under a flood over IPv6: the pair of addresses that sends too much is blacklisted for a while, and another pair
# of the same destination loses nothing meanwhile; with programs in C in both forms, and in Lua.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin eclat
veth_pair
have python3 || skip "python3 is not installed"
have bpftool || skip "bpftool is not installed"
have clang || have clang-19 || skip "clang is not installed"

GOOD=2001:db8::1 EVIL=2001:db8::666 TARGET=2001:db8::2
ip -n "$LEFT" address add $GOOD/64 dev left0 nodad
ip -n "$LEFT" address add $EVIL/64 dev left0 nodad
ip -n "$RIGHT" address add $TARGET/64 dev right0 nodad
# Neighbours ask for addresses, which would be counted; so nobody has to ask.
address_of() { ip -n "$1" -j link show dev "$2" | jq -r '.[0].address'; }
ip -n "$LEFT" neigh replace $TARGET lladdr "$(address_of "$RIGHT" right0)" dev left0 nud permanent
for source in $GOOD $EVIL; do
    ip -n "$RIGHT" neigh replace $source lladdr "$(address_of "$LEFT" left0)" dev right0 nud permanent
done

# The right side answers datagrams to port 7000, and says how many came to port 9 when it gets `end` from the good address.
ip netns exec "$RIGHT" python3 -c '
import socket, threading
def echo():
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as one:
        one.bind(("2001:db8::2", 7000))
        while True:
            data, peer = one.recvfrom(2000)
            one.sendto(data, peer)
threading.Thread(target=echo, daemon=True).start()
count = 0
with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as one:
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
    one.bind(("2001:db8::2", 9))
    print("listening", flush=True)
    while True:
        if one.recv(2000) == b"end":
            print(count, flush=True)
            count = 0
        else:
            count += 1
' >"$WORK/sink.out" 2>"$WORK/sink.err" &
PIDS+=($!)
eventually "the right side listens" grep -qs listening "$WORK/sink.out"

# flood.py SOURCE COUNT: datagrams to port 9; then `end` from the good address.
cat >"$WORK/flood.py" <<'PYTHON'
import socket, sys, time

def sender(address):
    one = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    one.bind((address, 0))
    one.connect(("2001:db8::2", 9))
    return one

with sender(sys.argv[1]) as one:
    for number in range(int(sys.argv[2])):
        one.send(b"evil")
        # A veth device has room for 256 packets: what finds none is lost before any program sees it.
        if number % 50 == 49:
            time.sleep(0.001)
with sender("2001:db8::1") as one:
    one.send(b"end")
PYTHON

# good.py: a datagram every five milliseconds, each of which is answered.
cat >"$WORK/good.py" <<'PYTHON'
import socket, time

answers = 0
with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as one:
    one.settimeout(2)
    one.bind(("2001:db8::1", 0))
    one.connect(("2001:db8::2", 7000))
    for number in range(400):
        one.send(b"%d" % number)
        answers += one.recv(100) == b"%d" % number
        time.sleep(0.005)
print(answers)
PYTHON

# flood SOURCE COUNT: sends, and says how many came through.
flood() {
    local lines
    lines=$(wc -l <"$WORK/sink.out")
    ip netns exec "$LEFT" python3 "$WORK/flood.py" "$@"
    eventually "the flood has arrived" eval '[ "$(wc -l <"$WORK/sink.out")" -gt '"$lines"' ]'
    ARRIVED=$(tail -n 1 "$WORK/sink.out")
}

# maps: the numbers of the maps of the attached program.
maps() {
    local program
    program=$(ip -n "$RIGHT" -j link show dev right0 | jq '.[0].xdp.prog.id')
    bpftool -j prog show id "$program" | jq '.map_ids[]'
}

# map NAME: the number of its map of that name.
map() {
    local id
    for id in $(maps); do
        [ "$(bpftool -j map show id "$id" | jq -r .name)" != "$1" ] || echo "$id"
    done
}

# counted EVENT: how often it was counted, on all CPUs.
counted() {
    bpftool -j map dump id "$(map counts)" | jq "[.[] | select(.formatted.key == $1) | .formatted.values[].value] | add // 0"
}

# run_ddos FORM FOLDER…: attaches the script with programs of those folders.
run_ddos() {
    local form=$1 folders=() folder
    shift
    for folder in "$@"; do folders+=(--packages "$folder"); done
    attach "$REPO/examples/ddos_two_levels.eclat" "${folders[@]}" -D DEVNAME right0 --netns "$RIGHT" --mode native --form "$form"
}

# withstands WHAT: the flood is cut off, and good datagrams are not.
withstands() {
    ip netns exec "$LEFT" python3 "$WORK/good.py" >"$WORK/good.out" 2>&1 &
    local good=$! passed
    flood $EVIL 20000
    passed=$ARRIVED
    flood $EVIL 5
    [ "$ARRIVED" = 0 ] || die "$1: $ARRIVED passed behind the flood"
    wait "$good" || die "$1: $(cat "$WORK/good.out")"
    [ "$(cat "$WORK/good.out")" = 400 ] || die "$1: of 400 good datagrams $(cat "$WORK/good.out") were answered"
    # Two bucketfuls, but for what the other pair took of the first, and what the rates allow while they were emptied.
    [ "$passed" -ge 1000 ] && [ "$passed" -le 10000 ] || die "$1: $passed passed"
    PASSED=$passed
}

# passes_again: the blacklist forgets after ten seconds.
passes_again() {
    sleep 10
    flood $EVIL 5
    [ "$ARRIVED" = 5 ] || die "$ARRIVED of 5 passed when the time was over"
}

for form in expanded general; do
    run_ddos "$form" "$REPO/packages"
    withstands "$form"
    # Every datagram of the flood has passed, offended, or met the blacklist.
    offended=$(counted 3)
    [ "$offended" -ge 1 ] && [ "$offended" -le 2 ] || die "$form: offended $offended times"
    is $((20005 - PASSED - offended)) counted 4
    # 400 good ones, `end` twice, and those of the flood; the stacks themselves may have said something.
    more=$(($(counted 1) + $(counted 2) - PASSED - 402))
    [ "$more" -ge 0 ] && [ "$more" -le 20 ] || die "$form: $more passed that nobody has sent"
    [ "$(counted 2)" -ge 100 ] || die "$form: the destination was not busy"
    is 1 eval 'bpftool -j map dump id "$(map members)" | jq length'
    [ "$form" = expanded ] || passes_again
    finish
done

run_ddos expanded "$REPO/packages/lua" "$REPO/packages"
withstands "in Lua"
finish

echo "everything went as expected"
