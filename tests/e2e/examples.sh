#!/usr/bin/env bash
# Examples on a veth between two namespaces: real datagrams, dropped or passed, and what the handlers print about them.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin examples
veth_pair

# send PORT BYTES: one datagram; BYTES as printf takes them.
send() {
    ip netns exec "$LEFT" bash -c "printf '$2' >/dev/udp/192.0.2.2/$1"
}

# Datagrams that reached the right side's UDP, where nobody listens (RFC 4113, udpNoPorts).
arrived() {
    ip netns exec "$RIGHT" awk '$1 == "Udp:" && $2 ~ /^[0-9]/ { print $3 }' /proc/net/snmp
}

# example NAME: attaches examples/NAME.lua, calls the function `send_NAME`, which sends datagrams, and waits for `last`, the line
# that the last of them makes.
example() {
    local name=$1 last=$2
    env --default-signal=INT "$MOONHOOK" run right0 "$REPO/examples/$name.lua" --netns "$RIGHT" --mode native \
        >"$WORK/$name.out" 2>"$WORK/$name.err" </dev/null &
    RUN=$!
    eventually "$name attaches" grep -qs '^attached' "$WORK/$name.out"
    before=$(arrived)
    "send_$name"
    eventually "$name prints its last line" grep -qFx -- "$last" "$WORK/$name.out"
    kill -INT "$RUN"
    wait "$RUN" || die "$name ended with $?"
    RUN=
}

# passed NAME COUNT: checks how many datagrams reached the right side since `example`.
passed() {
    [ "$(arrived)" = "$((before + $2))" ] || die "$1 passed $(($(arrived) - before)) datagrams, not $2"
}

send_word_count() {
    send 7000 'offer after offer'
    send 7000 'bread and butter and bread'
}
echo "word_count.lua"
example word_count "butter	1"
passed word_count 1
grep -qFx "bread	2" "$WORK/word_count.out" || die "the most frequent word is not printed"

send_classes() {
    send 5100 'PING 7'
    send 7000 'anything'
    send 5100 'GET'
}
echo "classes.lua"
example classes "dropped: internal services from 192.0.2.1"
passed classes 2

# A header of 12 bytes, then the question.
HEADER='\001\002\001\000\000\001\000\000\000\000\000\000'
send_dns_names() {
    send 53 "$HEADER"'\003www\007example\003org\000\000\001\000\001'
    send 53 "$HEADER"'\001a\007tracker\007example\000\000\001\000\001'
}
echo "dns_names.lua"
example dns_names "192.0.2.1 asked for a.tracker.example, under tracker.example"
passed dns_names 1

send_dns_stats() {
    local _
    for _ in 1 2 3; do send 53 "$HEADER"'\003www\007Example\003org\000\000\001\000\001'; done
    send 53 "$HEADER"'\003www\007example\003org\000\000\034\000\001'
}
echo "dns_stats.lua"
example dns_stats "       1  www.example.org. AAAA"
passed dns_stats 4
grep -qFx "       3  www.example.org. A" "$WORK/dns_stats.out" || die "the most frequent question is not printed"

echo "everything went as expected"
