#!/usr/bin/env bash
# Functions of flows that come in signed datagrams, on a veth between two namespaces: what is signed by a known key takes effect, in one
# datagram or several; anything else is counted, dropped and changes nothing.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin updates
veth_pair

# update ARGS…: sends an update from the left namespace.
update() {
    ip netns exec "$LEFT" "$MOONHOOK" send-update 192.0.2.2 "$@" >"$WORK/sent"
}

# send PORT COUNT: datagrams of 4 bytes.
send() {
    ip netns exec "$LEFT" bash -c "for i in \$(seq $2); do printf ping >/dev/udp/192.0.2.2/$1; done"
}

gives() {
    [[ "$("$MOONHOOK" exec updates -e "$1" 2>&1 || true)" == "$2" ]]
}

# counted WHAT NUMBER: what became of datagrams.
counted() {
    eventually "$2 datagrams are counted as $1" gives "return updates['$1']" "$2"
}

cd "$WORK"
"$MOONHOOK" update-key operator.key >/dev/null
"$MOONHOOK" update-key stranger.key >/dev/null
[[ "$(stat -c %a operator.key) $(stat -c %a operator.key.pub)" == "600 644" ]] || die "wrong modes of key files"
before=$(cat operator.key)
fails 3 "$MOONHOOK" update-key operator.key
grep -q MH0035 fails.err || die "the reason is not said"
[[ "$(cat operator.key)" == "$before" ]] || die "a key was overwritten"

cat >updates.lua <<'LUA'
local flow, updates = require "flow", require "updates"
local seen = map{key = "int", value = "int"}
flows = flow.new{key = "dport", default = function(pkt)
  if pkt.udp and pkt.udp.dport >= 7000 then seen[1] = (seen[1] or 0) + 1 end
end}
HOOK_ATTACH(flows)
local counts = updates.listen{port = 9, keys = {"operator.key.pub"}, hook = HOOK_ATTACH, name = "edge", size = 5000, HOOK_LIMIT = 100, sources = {"192.0.2.0/28"}}
function taken() return counts.taken end
LUA
cat >hooks.lua <<'LUA'
local netfilter, tc, xdp = require "netfilter", require "tc", require "xdp"
local function local_in(f) netfilter.register{pf = 2, hooknum = 1, hook = f} end
LUA
cat >hundred.lua <<'LUA'
function(pkt)
  seen[1] = (seen[1] or 0) + 100
  return HOOK_DROP
end
LUA

try() {
    local form=$1 attach=$2 drop=$3 hook=$4
    local run="$form-$hook" limit=rate
    [[ $form == auto ]] || limit=total
    sed "s/HOOK_ATTACH/$attach/g; s/HOOK_LIMIT/$limit/" hooks.lua updates.lua >"$run.lua"
    sed -e "s/HOOK_DROP/$drop/" hundred.lua >"$run-hundred.lua"
    attach right0 "$run.lua" --netns "$RIGHT" --name updates --form "$form"

    update --key operator.key dport=7001 "$run-hundred.lua"
    counted taken 1
    eventually "the script reads what is counted" gives 'return taken()' 1
    send 7001 3
    send 7002 2
    eventually "only the flow's packets are handled by its function" gives 'return seen[1]' 302

    # A long one, each datagram twice.
    { printf 'function(pkt) seen[1] = (seen[1] or 0) + 1000 return %s end -- ' "$drop"; head -c 3000 /dev/zero | tr '\0' x; } >long.lua
    update --key operator.key --copies 2 --to edge dport=7001 long.lua
    grep -q '3 datagrams' sent || die "a long text is not in several datagrams: $(cat sent)"
    counted taken 2
    counted replayed 3
    send 7001 1
    eventually "the new function is there" gives 'return seen[1]' 1302

    # What is refused.
    update --key stranger.key dport=7001 "$run-hundred.lua"
    counted unknown 1
    update --key operator.key --to core dport=7001 "$run-hundred.lua"
    counted foreign 1
    head -c 6000 /dev/zero | tr '\0' ' ' >blank.lua
    update --key operator.key dport=7001 blank.lua
    counted oversized 1
    send 9 2
    ip netns exec "$LEFT" bash -c "head -c 1460 /dev/zero >/dev/udp/192.0.2.2/9"
    counted other 3
    ip netns exec "$LEFT" bash -c 'printf "MHUP%091d" 0 >/dev/udp/192.0.2.2/9'
    counted malformed 1
    ip -n "$LEFT" address add 192.0.2.77/24 dev left0
    ip -n "$LEFT" route add 192.0.2.2/32 dev left0 src 192.0.2.77
    update --key operator.key dport=7001 "$run-hundred.lua"
    counted source 1
    ip -n "$LEFT" route del 192.0.2.2/32
    ip -n "$LEFT" address del 192.0.2.77/24 dev left0
    echo 'function(pkt) return nosuch.field.at_all( end' >wrong.lua
    update --key operator.key dport=7001 wrong.lua
    counted refused 1
    eventually "the operator is told what is wrong" grep -q 'update of flow dport=7001: .*1: ' run.err
    update --key operator.key --table nosuch dport=7001 "$run-hundred.lua"
    counted refused 2
    send 7001 1
    eventually "the function is the one before" gives 'return seen[1]' 2302

    # A reload goes on with flows, counts and sequence numbers.
    "$MOONHOOK" reload updates >/dev/null
    counted taken 2
    send 7001 1
    eventually "the function is still there" gives 'return seen[1]' 3302
    update --key operator.key dport=7001 --delete
    counted taken 3
    send 7001 1
    eventually "the flow is gone" gives 'return seen[1]' 3303

    # More than 100 a second, of one source or of all.
    ip netns exec "$LEFT" bash -c 'for i in $(seq 400); do printf "MHUP%091d" 0 >/dev/udp/192.0.2.2/9; done'
    gives 'return updates.frequent > 0 and updates.malformed > 50' true || die "a flood goes on to control code"
    grep -q 'moonhook update' run.out run.err && die "bytes from the network are shown"

    finish
}

try auto xdp.attach 1 xdp
try general xdp.attach 1 xdp
try auto tc.ingress 2 tc
try general tc.ingress 2 tc
try auto local_in 0 netfilter
try general local_in 0 netfilter

echo "everything went as expected"
