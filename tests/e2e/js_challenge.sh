#!/usr/bin/env bash
# The JavaScript challenge: nginx, a challenge server that stores cookies through the socket of the running script, and two
# clients on a veth: headless Chromium gets in, curl is blocked.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

EXAMPLE=$REPO/examples/js_challenge
begin js
BROWSER=$(command -v chromium-headless-shell || command -v chromium || true)
[ -n "$BROWSER" ] || skip "chromium is not installed"
have python3 || skip "python3 is not installed"
namespace CLIENT client
namespace SERVER server
ip link add client0 netns "$CLIENT" type veth peer name server0 netns "$SERVER"
# curl and the browser are two clients: each has an address of its own.
ip -n "$CLIENT" address add 192.0.2.1/24 dev client0
ip -n "$CLIENT" address add 192.0.2.9/24 dev client0
ip -n "$SERVER" address add 192.0.2.2/24 dev server0
ip -n "$CLIENT" link set client0 up
ip -n "$CLIENT" link set lo up
ip -n "$SERVER" link set server0 up
ip -n "$SERVER" link set lo up

# background NAME COMMAND…: starts a command in the server's namespace.
background() {
    local name=$1
    shift
    ip netns exec "$SERVER" "$@" >"$WORK/$name.out" 2>&1 </dev/null &
    PIDS+=("$!")
}

# table TABLE COMMAND…: asks the running script.
table() {
    "$MOONHOOK" table filter "$@"
}

fetch() {
    ip netns exec "$CLIENT" curl --silent --max-time 2 --interface 192.0.2.9 "$@" http://192.0.2.2/
}

browse() {
    ip netns exec "$CLIENT" timeout 60 "$BROWSER" --headless --no-sandbox --disable-gpu --disable-extensions \
        --user-data-dir="$WORK/browser" --virtual-time-budget=10000 --dump-dom http://192.0.2.2/ 2>"$WORK/browser.log"
}

mkdir -p "$WORK/www"
echo '<!doctype html><title>Welcome</title><p>Inside' >"$WORK/www/index.html"
chmod -R a+rX "$WORK"
sed "s|FOLDER|$WORK|" "$EXAMPLE/nginx.conf" >"$WORK/nginx.conf"
background nginx nginx -c "$WORK/nginx.conf" -g 'daemon off; user root;'
background filter "$MOONHOOK" run server0 "$EXAMPLE/filter.lua" --mode native
eventually "the filter is attached" grep -qs '^attached' "$WORK/filter.out"
background challenge python3 "$EXAMPLE/challenge.py" 8081 "$WORK/run/filter.sock"
eventually "the challenge is answered" ip netns exec "$SERVER" bash -c ': </dev/tcp/127.0.0.1/8081'
eventually "nginx listens" ip netns exec "$SERVER" bash -c ': </dev/tcp/127.0.0.1/80'

# A client without a browser's abilities gets the challenge a few times, the same one, and nothing more.
fetch >"$WORK/first" || die "the first request was not answered"
grep -q '__mh=' "$WORK/first" || die "the first answer is not the challenge"
value=$(table cookies get 192.0.2.9) || die "the value is not stored"
grep -q "__mh=$(tr -d '"' <<<"$value");" "$WORK/first" || die "the stored value is $value"
# Two at once do no harm.
fetch >"$WORK/second" &
fetch >"$WORK/third" || die "the second of two requests at once was not answered"
wait "$!" || die "the first of two requests at once was not answered"
cmp -s "$WORK/first" "$WORK/second" || die "another challenge: $(cat "$WORK/second")"
for _ in 1 2 3 4 5 6 7 8 9; do fetch >"$WORK/again" || break; done
[ "$(table blocked get 192.0.2.9)" = true ] || die "the client is not blocked"
! fetch >"$WORK/again" || die "a blocked client was answered"
! fetch --header "Cookie: __mh=$value" >"$WORK/third" || die "a blocked client was answered"

# A browser runs the page's script and comes back with the cookie.
browse >"$WORK/page" || die "the browser failed: $(tail -n 3 "$WORK/browser.log")"
grep -q 'Inside' "$WORK/page" || die "the browser did not get in: $(cat "$WORK/page")"
! table blocked get 192.0.2.1 >"$WORK/log" 2>&1 || die "the browser is blocked"

# Whoever unblocks the client through the socket lets it in with its cookie.
table blocked delete 192.0.2.9
value=$(tr -d '"' <<<"$value")
fetch --header "Cookie: a=b; __mh=$value" | grep -q Inside || die "the cookie does not count"
fetch --header "cookie: __mh=$value; c=d" | grep -q Inside || die "the cookie does not count in lower case"
fetch --header "Cookie: __mh=0$value" | grep -q '__mh=' || die "a wrong cookie counts"

# A request in two segments, whose cookie is in the second.
slow() {
    ip netns exec "$CLIENT" python3 - "$1" <<'END'
import socket, sys, time
connection = socket.create_connection(("192.0.2.2", 80), 2, ("192.0.2.9", 0))
connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
connection.sendall(b"GET / HTTP/1.1\r\nHost: 192.0.2.2\r\nX-Long: " + b"x" * 1000)
time.sleep(0.3)
connection.sendall(b"\r\nCookie: __mh=" + sys.argv[1].encode() + b"\r\nConnection: close\r\n\r\n")
sys.stdout.buffer.write(b"".join(iter(lambda: connection.recv(4096), b"")))
END
}
slow "$value" >"$WORK/slow"
grep -q Inside "$WORK/slow" || die "a cookie in the second segment does not count: $(cat "$WORK/slow")"
slow wrong >"$WORK/slow"
grep -q '__mh=' "$WORK/slow" || die "a wrong cookie in the second segment counts: $(cat "$WORK/slow")"
! table blocked get 192.0.2.9 >"$WORK/log" 2>&1 || die "a client with its cookie is blocked"
echo "chromium got in, curl was blocked"
