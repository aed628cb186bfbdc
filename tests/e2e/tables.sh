#!/usr/bin/env bash
# `moonhook table` and `moonhook exec`: a running script's tables from outside, what handlers make of it, and reloads and pins that keep
# them.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin tables
need_bpffs
local_pair

cat >"$WORK/guard.lua" <<'LUA'
-- Counts datagrams by port, and drops those to blocked ports.
limit = 5
blocked = map { key = "int", value = "boolean", capacity = 200000 }
blocked[7009] = true
nets = map { key = "ipv4", value = { "int", "int" }, lpm = true, capacity = 500 }
nets["192.0.2.0/24"] = { 7100, 7199 }
local counts = {}
local flows = {}
local means, last = {}, {}

require("xdp").attach(function(pkt)
  local udp = pkt.udp
  if not udp then
    return
  end
  counts[udp.dport] = (counts[udp.dport] or 0) + 1
  flows[pkt.ip.src] = udp.dport
  means[udp.dport] = (means[udp.dport] or 0.0) * 0.5 + udp.dport / 4
  if last[udp.dport] == nil then
    last[udp.dport] = true
  elseif last[udp.dport] == true then
    last[udp.dport] = udp.dport + 0
  else
    print("last", last[udp.dport])
  end
  local net = nets[pkt.ip.src]
  if net and udp.dport >= net[1] and udp.dport <= net[2] then
    print("range", #net, net[2])
  end
  if blocked[udp.dport] then
    print("blocked", udp.dport)
    return 1
  end
end)
LUA

start() {
    "$MOONHOOK" run right0 "$WORK/guard.lua" --netns "$NETNS" --pin --bpffs "$BPFFS" >"$WORK/$1.out" 2>"$WORK/$1.err" </dev/null &
    RUN=$!
    eventually "moonhook run attaches" grep -qs '^attached' "$WORK/$1.out"
    eventually "moonhook run listens" test -e "$WORK/run/guard.sock"
}

send() {
    ip netns exec "$NETNS" bash -c "echo x >/dev/udp/192.0.2.2/$1"
}

table() {
    "$MOONHOOK" table guard "$@"
}

start first
echo "tables are listed and described"
table --json | jq -e '[.[].name] | sort == ["blocked", "counts", "flows", "last", "means", "nets"]' >/dev/null || die "the tables are: $(table)"
is 'blocked: int → boolean, 1 of 200000 entries' table blocked

echo "what handlers write can be read"
for port in 7001 7001 7009; do send "$port"; done
eventually "the handler blocks" grep -qx 'blocked	7009' "$WORK/first.out"
is 2 table counts get 7001
is 7009 table flows get 192.0.2.1
is nil table counts get 1
fails 1 table counts get 1

echo "what is written from outside handlers see"
table blocked set 7001 true
send 7001
eventually "the handler blocks" grep -qx 'blocked	7001' "$WORK/first.out"
table blocked delete 7001
fails 1 table blocked delete 7001
is true table blocked get 7009 --json
table flows set 192.0.2.9 -1
is -1 table flows get 192.0.2.9
fails 1 table flows set nowhere true
grep -q 'error\[MH0701\]' "$WORK/fails.err" || die "it said: $(cat "$WORK/fails.err")"
fails 1 table absent get 1
grep -q 'error\[MH0704\]' "$WORK/fails.err" || die "it said: $(cat "$WORK/fails.err")"
fails 2 table blocked get '{1'
fails 2 table blocked set 1

echo "floats, and values of several types"
is 'last: int → boolean|int, 2 of 65536 entries' table last
is 7001 table last get 7001
is true table last get 7009
is 1752.25 table means get 7009
table means set 7009 3
is 3.0 table means get 7009
is 0.75 "$MOONHOOK" exec guard -e 'means[7009] = means[7009] / 4 return means[7009]'
table last set 7009 42
send 7009
eventually "the handler shows what was assigned from outside" grep -qx 'last	42' "$WORK/first.out"
fails 1 table last set 7009 1.5
grep -q 'boolean or integer expected, got float' "$WORK/fails.err" || die "it said: $(cat "$WORK/fails.err")"

echo "in bulk, and as CSV and JSON"
seq 10000 109999 >"$WORK/ports.txt"
is '100000 entries loaded' table blocked load "$WORK/ports.txt" --add
is 'blocked: int → boolean, 100001 of 200000 entries' table blocked
[ "$(table blocked dump | wc -l)" = 100001 ] || die "the dump has another length"
[ "$(table blocked dump --json | jq -s 'map(.[0]) | unique | length')" = 100001 ] || die "the dump has not every entry"
is '100001 entries removed' table blocked clear
table flows dump --csv >"$WORK/flows.csv"
sort "$WORK/flows.csv" | diff - <(printf '192.0.2.1,7009\n192.0.2.9,-1\nkey,value\n') || die "the CSV differs"
table flows clear >/dev/null
is '2 entries loaded' table flows load "$WORK/flows.csv"
is -1 table flows get 192.0.2.9
printf '7001,1\n7002\n' >"$WORK/bad.csv"
fails 1 table counts load "$WORK/bad.csv"
grep -q 'bad.csv:2' "$WORK/fails.err" || die "no line: $(cat "$WORK/fails.err")"
printf '"x"\n' >"$WORK/bad.txt"
fails 1 table counts load "$WORK/bad.txt"
grep -q 'in line 1 of' "$WORK/fails.err" || die "no line: $(cat "$WORK/fails.err")"

echo "Lua code in the script's state"
is $'6\tx' "$MOONHOOK" exec guard -e 'limit + 1, "x"'
is '' "$MOONHOOK" exec guard -e 'limit = 8 blocked[7002] = true'
is 8 "$MOONHOOK" exec guard -e limit
send 7002
eventually "the handler blocks" grep -qx 'blocked	7002' "$WORK/first.out"
printf 'for port, count in pairs(counts) do\n  if port == 7001 then print(port, count) end\nend\n' >"$WORK/code.lua"
is '7001	3' "$MOONHOOK" exec guard "$WORK/code.lua"
fails 1 "$MOONHOOK" exec guard -e 'print "before" error "no"'
grep -q 'error\[MH0705\]: exec:1: no' "$WORK/fails.err" && grep -qx before "$WORK/fails.out" || die "it said: $(cat "$WORK/fails.err")"
"$MOONHOOK" exec guard -e '1, "a\n"' --json | jq -e '.results == ["1", "a\n"] and .error == null' >/dev/null || die "no JSON"

echo "prefixes with lists as values"
is '192.0.2.0/24	{"1":7100,"2":7199}' table nets dump
table nets set 192.0.2.1/32 '{"1": 7200, "2": 7201}'
send 7201
eventually "the handler finds the longest prefix" grep -qx 'range	2	7201' "$WORK/first.out"
table nets dump --csv | sort >"$WORK/nets.csv"
diff - "$WORK/nets.csv" < <(printf '192.0.2.0/24,7100,7199\n192.0.2.1/32,7200,7201\nkey,1,2\n') || die "the CSV differs"
is '{7200, 7201}	{7100, 7199}' "$MOONHOOK" exec guard -e 'nets["192.0.2.1"], nets["192.0.2.2"]'
is '' "$MOONHOOK" exec guard -e 'for i = 1, 255 do nets["10." .. i .. ".0.0/16"] = {i} end'
is '257	32640' "$MOONHOOK" exec guard -e 'local n, s = 0, 0
    for net, range in pairs(nets) do n, s = n + 1, s + (range[2] and 0 or range[1]) end return n, s'
is 257 "$MOONHOOK" exec guard -e 'local n, net = 0, next(nets)
    while net do n, net = n + 1, next(nets, net) end return n'
[ "$(table nets dump | wc -l)" = 257 ] || die "the dump has another length"
{ echo key,1,2; grep -v key "$WORK/nets.csv"; } >"$WORK/nets_again.csv"
is '2 entries loaded' table nets load "$WORK/nets_again.csv"
is '192.0.2.0/24 192.0.2.1/32' "$MOONHOOK" exec guard -e 'local all = {}
    for net in pairs(nets) do all[#all + 1] = net end table.sort(all) return table.concat(all, " ")'

echo "a reload keeps tables of the same schema"
sed 's/= udp.dport$/= udp.dport > 7000/; s/print("blocked"/print("stopped"/' \
    "$WORK/guard.lua" >"$WORK/next.lua"
"$MOONHOOK" reload guard "$WORK/next.lua" >"$WORK/reload.out"
grep -qx '  table blocked: kept' "$WORK/reload.out" && grep -qx '  table counts: kept' "$WORK/reload.out" &&
    grep -q '^  table flows: reset (it was ip.* → int, .*, it is ip.* → boolean, ' "$WORK/reload.out" || die "it says: $(cat "$WORK/reload.out")"
grep -qx '  table last: kept' "$WORK/reload.out" && grep -qx '  table means: kept' "$WORK/reload.out" || die "it says: $(cat "$WORK/reload.out")"
is 42 table last get 7009
is 3 table counts get 7001
is nil table flows get 192.0.2.9
send 7002
eventually "the new handler blocks" grep -qx 'stopped	7002' "$WORK/first.out"
is 2 table counts get 7002

echo "a killed process keeps them for the next one"
kill -KILL "$RUN"
wait "$RUN" 2>/dev/null || true
RUN=
send 7002
start second
grep -qx '  table blocked: kept' "$WORK/second.out" || die "it says: $(cat "$WORK/second.out")"
is 3 table counts get 7002
send 7002
eventually "the handler blocks" grep -qx 'blocked	7002' "$WORK/second.out"
"$MOONHOOK" stop guard --bpffs "$BPFFS"
wait "$RUN" || die "it ended with $?"
RUN=
[ -z "$(find "$BPFFS" "$WORK/run" -mindepth 1 2>/dev/null)" ] || die "left behind: $(find "$BPFFS" "$WORK/run")"
echo "everything went as expected"
