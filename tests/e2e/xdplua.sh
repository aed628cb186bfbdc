#!/usr/bin/env bash
# XDPLua's two programs (examples/xdplua), in C and Lua, in both forms of the library: the JavaScript challenge, with a browser and with curl, and the
# filter of TLS by server names; their tables are written from outside while they run.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin xdplua
veth_pair
for tool in bpftool openssl curl python3 nsenter; do
    have $tool || skip "$tool is not installed"
done
CLANG=$(command -v clang-19 || command -v clang) || skip "clang is not installed"
BROWSER=$(command -v chromium-headless-shell || command -v chromium || true)

# The browser and curl are two clients.
for address in 198.51.100.1 198.51.100.9; do ip -n "$LEFT" address add $address/24 dev left0; done
ip -n "$RIGHT" address add 198.51.100.2/24 dev right0
need_bpffs
PINS=$BPFFS
mkdir "$PINS"
cp "$REPO"/examples/xdplua/* "$WORK"
cd "$WORK"

# program NAME FORM CLANG-OPTIONS…: builds both halves and attaches them, with maps in $PINS/maps.
program() {
    local name=$1 form=$2
    shift 2
    "$MOONHOOK" build --library "$name.lua" -o "$name.bpf.o" --form "$form" >build.out
    "$CLANG" -O2 -g -Wall -Werror -target bpf -I"/usr/include/$(uname -m)-linux-gnu" "$@" -c "$name.bpf.c" -o program.bpf.o
    bpftool gen object linked.bpf.o program.bpf.o "$name.bpf.o"
    bpftool prog load linked.bpf.o "$PINS/program" type xdp pinmaps "$PINS/maps"
    nsenter --net="/run/netns/$RIGHT" ip link set dev right0 xdpgeneric pinned "$PINS/program"
}

detach() {
    nsenter --net="/run/netns/$RIGHT" ip link set dev right0 xdpgeneric off
    rm -rf "${PINS:?}"/*
}

fetch() {
    ip netns exec "$LEFT" curl --silent --max-time 2 --interface 198.51.100.9 "$@" http://198.51.100.2/
}

challenge() {
    program challenge "$1"
    nsenter --net="/run/netns/$RIGHT" python3 server.py 80 "$PINS/maps/challenge__cookies" >"server.$1" 2>&1 &
    local server=$!
    PIDS+=("$server")
    eventually "the server listens" ip netns exec "$LEFT" bash -c ': </dev/tcp/198.51.100.2/80' 2>connect.log
    fetch >first || die "$1: the first request was not answered: $(cat "server.$1")"
    grep -q '__xdp=' first || die "$1: the first answer is not the challenge"
    local value
    value=$(sed -n 's/.*__xdp=\([0-9]*\);.*/\1/p' first)
    fetch --header "Cookie: a=b; __xdp=$value" | grep -q Inside || die "$1: the cookie does not count"
    if [ -n "$BROWSER" ]; then
        ip netns exec "$LEFT" timeout 60 "$BROWSER" --headless --no-sandbox --disable-gpu --disable-extensions \
            --user-data-dir="$WORK/browser" --virtual-time-budget=10000 --dump-dom http://198.51.100.2/ >page 2>browser.log ||
            die "$1: the browser failed: $(tail -n 3 browser.log)"
        grep -q Inside page || die "$1: the browser did not get in: $(cat page)"
    fi
    # Without the cookie, or with a wrong one, a client is dropped from some request on, whatever it sends then.
    for _ in 1 2 3 4 5 6 7 8 9 10; do fetch --header "Cookie: __xdp=1$value" >again || break; done
    ! fetch --header "Cookie: __xdp=$value" >again || die "$1: a client with too many wrong requests was answered"
    bpftool -j map dump pinned "$PINS/maps/strangers" | jq -e 'length == 1' >/dev/null || die "$1: who is a stranger: $(bpftool map dump pinned "$PINS/maps/strangers")"
    kill "$server"
    wait "$server" 2>/dev/null || true
    detach
}

serve_tls

names() {
    program sni "$1" -D MOONHOOK_WITHOUT_KSYM -include sni.h
    is 200 https_status blocked.example
    python3 names.py "$PINS/maps/sni__refused" blocked.example other.example
    is 000 https_status blocked.example
    is 200 https_status open.example
    is 200 https_status sub.blocked.example
    python3 names.py "$PINS/maps/sni__refused" >names.out
    grep -Eqx 'blocked.example [1-9][0-9]*' names.out && grep -qx 'other.example 0' names.out || die "$1: $(cat names.out)"
    detach
    is 200 https_status blocked.example
}

for form in expanded general; do
    challenge $form
    names $form
done
echo "in both forms, who had no cookie was blocked, and so were names that were written from outside"
