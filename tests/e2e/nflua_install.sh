#!/usr/bin/env bash
# What `moonhook nflua install` installs, and the process with the states, together: rules of both kinds of iptables drop what functions in Lua
# say, are listed and restored as they were made, and follow what a program in Lua executes by the module `nflua`.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin nflua-install
need_bpffs
have lua5.4 || skip "lua5.4 is not installed"
have python3 || skip "python3 is not installed"
unset MOONHOOK_NFLUA
local_pair
ip -n "$NETNS" link set lo up
# As `ip netns exec`, which hides pins.
inside() { nsenter --net="/run/netns/$NETNS" "$@"; }

mkdir "$WORK/xtables"
OWN=$(pkg-config --variable=xtlibdir xtables) || skip "libxtables-dev is not installed"
"$MOONHOOK" nflua install --xtables-dir "$WORK/xtables" --lua-dir "$WORK/lua" >"$WORK/install.out" 2>"$WORK/install.err" \
    || skip "nothing can be installed here: $(head -n 1 "$WORK/install.err")"
is 5 grep -c '^installed /' "$WORK/install.out"
export XTABLES_LIBDIR=$WORK/xtables:$OWN LUA_CPATH="$WORK/lua/?.so"

# execute CODE: in the state, which is made if it is not there, by the module.
cat >"$WORK/execute.lua" <<'LUA'
local nflua = require "nflua"
local socket = assert(nflua.control())
local function run(command, ...)
    assert(socket[command](socket, ...))
    return socket:receive()
end
if #run "list" == 0 then assert(run("create", "st", 1 << 20)) end
assert(run("execute", "st", arg[1], "execute.lua"))
LUA
execute() { inside lua5.4 "$WORK/execute.lua" "$1"; }

# send: which of the datagrams to three ports come out at the other end. The last one, which no rule is about, comes last.
cat >"$WORK/send.py" <<'PYTHON'
import socket

wire = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800))
wire.bind(("right0", 0x0800))
wire.settimeout(10)
came = set()
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
    for port in (7001, 7002, 7003):
        try:
            one.sendto(b"x", ("192.0.2.2", port))
        except PermissionError:
            pass
while 7003 not in came:
    came.add(int.from_bytes(wire.recv(2000)[22:24], "big"))
print("".join("+" if port in came else "-" for port in (7001, 7002)))
PYTHON
send() { inside python3 "$WORK/send.py"; }

fails 1 inside iptables-nft -A OUTPUT -m lua --state st --function f
grep -q 'moonhook nflua run' "$WORK/fails.err" || die "$(cat "$WORK/fails.err")"

nsenter --net="/run/netns/$NETNS" "$MOONHOOK" nflua run >"$WORK/run.out" 2>"$WORK/run.err" </dev/null &
RUN=$!
eventually "the process listens" grep -qs '^listening' "$WORK/run.out"
fails 1 inside iptables-nft -A OUTPUT -m lua --state st --function f
grep -q 'Operation not permitted' "$WORK/fails.err" || die "$(cat "$WORK/fails.err")"

execute '
local function port(packet) return (packet:unpack(">I2", 23)) end
function f(packet) return port(packet) == 7001 end
function g(packet) return port(packet) == 7002 and "drop" or "accept" end'
RULES=(
    "-A OUTPUT -d 192.0.2.2/32 -p udp -m lua --state st --function f -j DROP"
    "-A OUTPUT -d 192.0.2.2/32 -p udp -j LUA --state st --function g"
)
for kind in iptables-legacy iptables-nft; do
    inside "$kind" -n -L >/dev/null 2>&1 || skip "$kind is not to be had here"
    is '++' send
    # shellcheck disable=SC2086 # arguments are words
    for rule in "${RULES[@]}"; do inside "$kind" -w $rule 2>"$WORK/rule.err" || die "$(cat "$WORK/rule.err")"; done
    is '--' send
    is "${RULES[0]}" eval "inside $kind -w -S OUTPUT 2>/dev/null | grep -e '-m lua'"
    inside "$kind-save" >"$WORK/saved" 2>"$WORK/save.err"
    inside "$kind" -w -F OUTPUT
    is '++' send
    inside "$kind-restore" "$WORK/saved"
    is '--' send
    execute 'function f() return false end'
    is '+-' send
    for rule in "${RULES[@]}"; do
        # shellcheck disable=SC2086
        inside "$kind" -w ${rule/-A/-D} 2>"$WORK/rule.err" || die "$(cat "$WORK/rule.err")"
    done
    is '++' send
    execute 'function f(packet) return (packet:unpack(">I2", 23)) == 7001 end'
done

eventually "no rule needs the states" eval "inside '$MOONHOOK' nflua stop 2>'$WORK/stop.err'"
wait "$RUN" || die "it ended with $?: $(cat "$WORK/run.err")"
RUN=''
is 5 eval "'$MOONHOOK' nflua uninstall --xtables-dir '$WORK/xtables' --lua-dir '$WORK/lua' | grep -c '^removed /'"
