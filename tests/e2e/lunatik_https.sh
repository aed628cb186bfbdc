#!/usr/bin/env bash
# Lunatik's filter of TLS by server names, unmodified: by `moonhook run`, and as a library that Lunatik's own program in C calls, in both forms.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin lunatik-https
root="${MOONHOOK_PEERS:-}/luainkernel+lunatik"
[ -d "$root" ] || skip "MOONHOOK_PEERS names no folder with luainkernel+lunatik"
veth_pair
for tool in bpftool openssl curl python3 nsenter; do
    have $tool || skip "$tool is not installed"
done
CLANG=$(command -v clang-19 || command -v clang) || skip "clang is not installed"
ip -n "$LEFT" address add 198.51.100.1/24 dev left0
ip -n "$RIGHT" address add 198.51.100.2/24 dev right0
need_bpffs
PINS=$BPFFS
mkdir "$PINS"
cd "$WORK"
serve_tls

# https_end NAME: how curl ends: 28 where no answer comes in time.
https_end() {
    local end=0
    ip netns exec "$LEFT" curl -sk --max-time 2 -o /dev/null --resolve "$1:443:198.51.100.2" "https://$1/" || end=$?
    echo "$end"
}

# The filter is one for IPv4 and names of the end of 2024: `ebpf.io` is listed.
filters() {
    is 28 https_end ebpf.io
    is 200 https_status open.example
    is 200 https_status docs.ebpf.io
}

for form in expanded general; do
    attach right0 "$root/examples/filter/sni.lua" --root "$root" --form $form --netns "$RIGHT"
    filters
    eventually "what is dropped is printed" grep -qx 'filter_sni: ebpf.io DROP' run.out
    grep -qx 'filter_sni: open.example PASS' run.out || die "what passes is not printed: $(cat run.out)"
    finish
    is 200 https_status ebpf.io
    attach right0 "$root/examples/filter/sni.lua" --root "$root" --form $form --netns "$RIGHT"
    is 28 https_end ebpf.io
    kill -KILL "$RUN"
    wait "$RUN" || true
    RUN=''
    is 200 https_status ebpf.io
done

bpftool btf dump file /sys/kernel/btf/vmlinux format c >vmlinux.h
for form in expanded general; do
    (cd "$root" && "$MOONHOOK" build --library --root . examples/filter/sni.lua -o "$WORK/sni.bpf.o" --form $form >"$WORK/build.out")
    "$CLANG" -O2 -g -Wall -target bpf -I. -D MOONHOOK_WITHOUT_KSYM -include sni.h -c "$root/examples/filter/https.c" -o https.bpf.o
    bpftool gen object linked.bpf.o https.bpf.o sni.bpf.o
    bpftool prog load linked.bpf.o "$PINS/program" type xdp pinmaps "$PINS/maps"
    nsenter --net="/run/netns/$RIGHT" ip link set dev right0 xdpgeneric pinned "$PINS/program"
    filters
    nsenter --net="/run/netns/$RIGHT" ip link set dev right0 xdpgeneric off
    rm -rf "${PINS:?}"/*
    is 200 https_status ebpf.io
done
echo "Lunatik's filter dropped the listed name and let others through, by itself and called by https.c, in both forms"
