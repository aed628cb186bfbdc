#!/usr/bin/env bash
# Several scripts as one program: names are per script, for tables and variables, in commands and over reloads.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin names
local_pair

# script NAME PORT: counts datagrams to the port, in a table and a variable that have the same names in all scripts.
script() {
    cat >"$WORK/$1.lua" <<LUA
local hits = map { key = "int", value = "int", capacity = 100 }
local names = { x = true }
local only_$1 = map { key = "int", value = "int", capacity = 100 }
local count = 0
require("xdp").attach(function(pkt)
  local udp = pkt.udp
  if udp and udp.dport == $2 then
    count = count + 1
    hits[$2] = (hits[$2] or 0) + 1
    only_$1[1] = count
    if names[pkt:getstring(42, 1)] then hits[0] = (hits[0] or 0) + 1 end
  end
end)
LUA
}

script web 7001
script dns 7002

attach right0 "$WORK/web.lua" "$WORK/dns.lua" --netns "$NETNS" --name both

send() {
    ip netns exec "$NETNS" bash -c "printf %s $2 >/dev/udp/192.0.2.2/$1"
}

table() {
    "$MOONHOOK" table both "$@"
}

for _ in 1 2 3; do send 7001 y; done
send 7002 y

echo "each table has a name of its own"
table --json | jq -e '[.[].name] | sort == ["dns.hits", "dns.only_dns", "web.hits", "web.only_web"]' >/dev/null || die "the tables are: $(table)"
eventually "packets are counted" sh -c "[ \"\$($MOONHOOK table both dns.hits get 7002)\" = 1 ]"
is 3 table web.hits get 7001
is nil table web.hits get 7002
is 'web.hits: int → int, 1 of 100 entries' table web.hits

echo "a plain name is enough where it is clear"
is 3 table only_web get 1
is 'dns.only_dns: int → int, 1 of 100 entries' table only_dns
fails 1 "$MOONHOOK" table both hits
grep -q 'error\[MH0707\]' "$WORK/fails.err" || die "$(cat "$WORK/fails.err")"
grep -q 'name one of web.hits, dns.hits' "$WORK/fails.err" || die "$(cat "$WORK/fails.err")"
fails 1 "$MOONHOOK" table both hits set 1 1
fails 1 "$MOONHOOK" table both other.hits
grep -q 'error\[MH0704\]' "$WORK/fails.err" || die "$(cat "$WORK/fails.err")"
is 1 "$MOONHOOK" exec both -e 'dns.hits[7002]'
is 3 "$MOONHOOK" exec both -e 'web.hits[7001]'

echo "a reload keeps them all, also in another order"
"$MOONHOOK" reload both >"$WORK/reload.out"
for kept in 'table web.hits' 'table dns.hits' 'table web.only_web' 'variable web.count' 'variable dns.count'; do
    grep -qx "  $kept: kept" "$WORK/reload.out" || die "$kept: $(cat "$WORK/reload.out")"
done
"$MOONHOOK" reload both "$WORK/dns.lua" "$WORK/web.lua" >"$WORK/reload.out"
for kept in 'table web.hits' 'table dns.hits' 'variable web.count' 'variable dns.count'; do
    grep -qx "  $kept: kept" "$WORK/reload.out" || die "$kept: $(cat "$WORK/reload.out")"
done
send 7001 y
send 7002 y
eventually "counts go on" sh -c "[ \"\$($MOONHOOK table both only_web get 1)\" = 4 ]"
eventually "counts go on" sh -c "[ \"\$($MOONHOOK table both only_dns get 1)\" = 2 ]"
is 2 table dns.hits get 7002

echo "lists are for the table that is named"
printf '%s\n' z >"$WORK/list.txt"
"$MOONHOOK" table both dns.names load "$WORK/list.txt" >"$WORK/load.out"
fails 1 "$MOONHOOK" table both names load "$WORK/list.txt"
send 7001 z
send 7002 z
eventually "the list is used" sh -c "[ \"\$($MOONHOOK table both dns.hits get 0)\" = 1 ]"
is nil table web.hits get 0
printf '%s\n' 'port,hits' '1,10' >"$WORK/list.csv"
"$MOONHOOK" table both web.hits load "$WORK/list.csv" >"$WORK/load.out"
is '1	10' table web.hits dump
echo "everything went as expected"
