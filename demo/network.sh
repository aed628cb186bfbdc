# Two network namespaces joined by veth, and a web server in one of them: sourced by scripts/demo and demo/capture.
#
# Reads WORK, an empty temporary folder. Everything made here carries the process id in its name or lies in WORK, so that
# several demonstrations can run at once; `network_down` removes all of it, however far `network_up` came.

CLIENT_NS=mh-client-$$
SERVER_NS=mh-server-$$
SERVER_IF=server0
# Documentation addresses (RFC 5737, RFC 3849): they collide with nothing real.
CLIENT_V4=192.0.2.1 SERVER_V4=192.0.2.2
CLIENT_V6=2001:db8::1 SERVER_V6=2001:db8::2

OPEN_NAMES=(allowed.example moonhook.example)
LISTED_NAMES=(blocked.example ads.example tracker.example)

NGINX_PID=

network_up() {
    local side
    for side in "$CLIENT_NS" "$SERVER_NS"; do
        ip netns add "$side" || return 1
        ip -netns "$side" link set lo up
    done
    ip link add client0 netns "$CLIENT_NS" type veth peer name "$SERVER_IF" netns "$SERVER_NS" || return 1
    address "$CLIENT_NS" client0 "$CLIENT_V4" "$CLIENT_V6"
    address "$SERVER_NS" "$SERVER_IF" "$SERVER_V4" "$SERVER_V6"
}

# `nodad`: duplicate address detection would keep the IPv6 address unusable for a second.
address() {
    ip -netns "$1" address add "$3/24" dev "$2"
    ip -netns "$1" address add "$4/64" dev "$2" nodad
    ip -netns "$1" link set "$2" up
}

in_client() {
    ip netns exec "$CLIENT_NS" "$@"
}

make_certificates() {
    local name
    mkdir "$WORK/tls"
    new_key "$WORK/tls/ca.key"
    openssl req -x509 -new -key "$WORK/tls/ca.key" -days 2 -subj "/CN=Moonhook demonstration" -out "$WORK/tls/ca.pem"
    for name in "$@"; do
        new_key "$WORK/tls/$name.key"
        openssl req -new -key "$WORK/tls/$name.key" -subj "/CN=$name" |
            openssl x509 -req -CA "$WORK/tls/ca.pem" -CAkey "$WORK/tls/ca.key" -days 2 -out "$WORK/tls/$name.pem" \
                -extfile <(printf 'subjectAltName=DNS:%s\n' "$name") 2>/dev/null
    done
}

new_key() {
    openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:prime256v1 -out "$1" 2>/dev/null
}

# Serves HTTPS for the names given and HTTP for any, over IPv4 and IPv6, and returns when both ports answer.
serve() {
    local name
    mkdir "$WORK/names"
    for name in "$@"; do
        cat >"$WORK/names/$name.conf" <<BLOCK
server {
    listen 443 ssl;
    listen [::]:443 ssl;
    server_name $name;
    ssl_certificate $WORK/tls/$name.pem;
    ssl_certificate_key $WORK/tls/$name.key;
    return 200 "this is $name\n";
}
BLOCK
    done
    # nginx looks for included files next to its configuration.
    cp "$REPO/demo/nginx.conf" "$WORK/nginx.conf"
    ip netns exec "$SERVER_NS" nginx -p "$WORK" -c "$WORK/nginx.conf" >"$WORK/nginx.log" 2>&1 </dev/null &
    NGINX_PID=$!
    wait_until 10 server_answers || {
        cat "$WORK/nginx.log" >&2
        return 1
    }
}

server_answers() {
    in_client curl -so /dev/null --max-time 1 "http://$SERVER_V4/" &&
        in_client curl -so /dev/null --max-time 1 "http://[$SERVER_V6]/"
}

# wait_until SECONDS COMMAND…: true as soon as the command is.
wait_until() {
    local deadline=$((SECONDS + $1))
    shift
    until "$@"; do
        [ "$SECONDS" -lt "$deadline" ] || return 1
        sleep 0.1
    done
}

# stop PID SIGNAL: sends it, waits five seconds at most, then insists. True if the process ended by itself.
stop() {
    local pid=$1 signal=$2
    [ -n "$pid" ] || return 0
    kill -s "$signal" "$pid" 2>/dev/null || return 0
    if wait_until 5 gone "$pid"; then
        return 0
    fi
    kill -s KILL "$pid" 2>/dev/null
    return 1
}

# A process that has ended but that nobody waited for is gone, too.
gone() {
    case "$(ps -o stat= -p "$1" 2>/dev/null)" in
    '' | Z*) return 0 ;;
    *) return 1 ;;
    esac
}

# Removes what `network_up` and `serve` made. True if it is really gone. Whatever still runs in one of the namespaces was
# started here, such as a client whose connection is silent.
network_down() {
    local side pid left=0
    stop "$NGINX_PID" TERM
    NGINX_PID=
    for side in "$CLIENT_NS" "$SERVER_NS"; do
        [ -e "/run/netns/$side" ] || continue
        for pid in $(ip netns pids "$side"); do
            stop "$pid" TERM || true
        done
        ip netns del "$side" || left=1
        [ ! -e "/run/netns/$side" ] || left=1
    done
    return "$left"
}
