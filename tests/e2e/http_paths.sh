#!/usr/bin/env bash
# examples/http_paths.lua before a web server: real requests from networks that may make them and from others, over IPv4 and IPv6, in both
# forms.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin httppaths
have python3 || skip "python3 is not installed"
have curl || skip "curl is not installed"
veth_pair
ip -n "$LEFT" address add 10.0.0.1/8 dev left0
ip -n "$RIGHT" address add 10.0.0.2/8 dev right0
for address in 2001:db8::1 2001:db8:1::1; do ip -n "$LEFT" address add "$address/32" dev left0 nodad; done
ip -n "$RIGHT" address add 2001:db8::2/32 dev right0 nodad

ip netns exec "$RIGHT" python3 - >"$WORK/server.out" 2>"$WORK/server.err" <<'PYTHON' &
import http.server, socket

class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"answered")

class Server(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6

server = Server(("::", 80), Answer)
print("listening", flush=True)
server.serve_forever()
PYTHON
PIDS+=($!)
eventually "the server listens" grep -qs listening "$WORK/server.out"

# ask FROM TO PATH: what is answered; nothing within a second.
ask() {
    ip netns exec "$LEFT" curl --silent --max-time 1 --interface "$1" --header "Host: www.shop.example" "http://$2$3" || true
}

for form in auto general; do
    attach right0 "$REPO/examples/http_paths.lua" --netns "$RIGHT" --form "$form"
    eventually "moonhook run listens" runs http_paths
    # 10.0.0.0/8 and 2001:db8:1::/48 may ask for all.
    is answered ask 10.0.0.1 10.0.0.2 /
    is answered ask 10.0.0.1 10.0.0.2 /admin
    is answered ask 192.0.2.1 192.0.2.2 /administration
    is "" ask 192.0.2.1 192.0.2.2 "/admin?user=1"
    is "" ask 192.0.2.1 192.0.2.2 /metrics/today
    is answered ask 2001:db8:1::1 "[2001:db8::2]" /metrics
    is "" ask 2001:db8::1 "[2001:db8::2]" /metrics
    is answered ask 2001:db8::1 "[2001:db8::2]" /
    is 1 bash -c "'$MOONHOOK' table http_paths hosts get www.shop.example | grep -c '^[1-9]'"
    detach
done
is answered ask 192.0.2.1 192.0.2.2 /metrics/today

echo "everything went as expected"
