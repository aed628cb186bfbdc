#!/usr/bin/env bash
# Programs in C that call Lua: `moonhook build --library`, clang and bpftool make one object, which filters TLS by the name that clients send,
# as Lunatik's example does, and counts by a function; in both forms, with real servers and clients.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin library
need_bpffs
veth_pair
for tool in bpftool openssl curl python3; do
    have $tool || skip "$tool is not installed"
done
CLANG=$(command -v clang-19 || command -v clang) || skip "clang is not installed"

ip -n "$LEFT" address add 198.51.100.1/24 dev left0
ip -n "$RIGHT" address add 198.51.100.2/24 dev right0

mkdir -p "$WORK/filter"
cat >"$WORK/filter/names.lua" <<'LUA'
local xdp = require "xdp"
local action = require "linux.xdp"

local refused = { ["blocked.example"] = true }

local function short(pkt, at)
  return pkt:getbyte(at) << 8 | pkt:getbyte(at + 1)
end

-- The argument is where the payload begins, in two bytes, highest first.
xdp.attach(function(pkt, arg)
  local at = short(arg, 0)
  if pkt:getbyte(at) ~= 0x16 or pkt:getbyte(at + 5) ~= 1 then return action.PASS end
  local ciphers = at + 44 + pkt:getbyte(at + 43)
  local compression = ciphers + 2 + short(pkt, ciphers)
  local extension = compression + 3 + pkt:getbyte(compression)
  for _ = 1, 20 do
    if short(pkt, extension) == 0 then
      local name = pkt:getstring(extension + 9, short(pkt, extension + 7))
      return refused[name] and action.DROP or action.PASS
    end
    extension = extension + 4 + short(pkt, extension + 2)
  end
end)

local hellos = map { key = "int", value = "int", capacity = 16 }

return {
  hello = function(pkt, port)
    hellos[port] = (hellos[port] or 0) + 1
    return hellos[port]
  end,
}
LUA
cat >"$WORK/program.bpf.c" <<'C'
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/tcp.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>

typedef unsigned long size_t;

extern int bpf_luaxdp_run(char *key, size_t key__sz, struct xdp_md *xdp_ctx, void *arg, size_t arg__sz) __ksym;

static char script[] = "filter/names";
long long seen;

SEC("xdp") int program(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data;
	struct iphdr *ip = data + sizeof(*eth);
	struct tcphdr *tcp;
	__u16 offset;
	int verdict;

	if ((void *)(ip + 1) > end || eth->h_proto != bpf_htons(ETH_P_IP) || ip->protocol != IPPROTO_TCP)
		return XDP_PASS;
	tcp = (void *)ip + ip->ihl * 4;
	if ((void *)(tcp + 1) > end || tcp->dest != bpf_htons(443))
		return XDP_PASS;
	offset = (void *)tcp + tcp->doff * 4 - data;
	if (data + offset + 10 > end)
		return XDP_PASS;
	seen = hello(ctx, 443);
	offset = bpf_htons(offset);
	verdict = bpf_luaxdp_run(script, sizeof(script), ctx, &offset, sizeof(offset));
	return verdict < 0 ? XDP_PASS : verdict;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
C

cd "$WORK"
serve_tls

for form in expanded general; do
    "$MOONHOOK" build --library filter/names.lua -o names.bpf.o --form $form >build.out
    grep -q "functions .*hello.*bpf_luaxdp_run" build.out || die "$form: $(cat build.out)"
    "$CLANG" -O2 -g -target bpf -mcpu=v3 -I"/usr/include/$(uname -m)-linux-gnu" -D MOONHOOK_WITHOUT_KSYM -include names.h -c program.bpf.c -o program.bpf.o
    bpftool gen object linked.bpf.o program.bpf.o names.bpf.o
    # Name spaces have file systems of their own for BPF: it is attached from within.
    ip netns exec "$RIGHT" ip link set dev right0 xdpgeneric obj linked.bpf.o sec xdp
    is 200 https_status open.example
    is 000 https_status blocked.example
    is 200 https_status other.example
    id=$(ip netns exec "$RIGHT" ip -j link show dev right0 | jq '.[0].xdp.prog.id')
    for map in $(bpftool -j prog show id "$id" | jq '.map_ids[]'); do
        case $(bpftool -j map show id "$map" | jq -r .name) in
        *.bss) bpftool -j map dump id "$map" | jq -r '.[0].formatted.value[".bss"][].seen // empty' >seen.out ;;
        esac
    done
    [ "$(cat seen.out)" -ge 3 ] || die "$form: the function has counted $(cat seen.out)"
    ip netns exec "$RIGHT" ip link set dev right0 xdpgeneric off
    is 200 https_status blocked.example
done

# Whatever functions and their parameters are called: a name is refused, or C takes the header, and both libraries go into one program.
cat >words.py <<'PY'
import random, subprocess, sys
moonhook, clang, include, pin = sys.argv[1:]
words = """int asm main exit abort _exit log pow abs remainder memcpy strlen printf index free _ __ _a __a _A _Bool _Static_assert
    __int128 __typeof__ unix linux bpf SEC NULL XDP_PASS BPF_ANY bpf_printk bpf_map_lookup_elem bpf_luaxdp_run barrier likely size_t ctx pkt
    __u32 MOONHOOK_FAILED LICENSE program first first__n second__n first__events a b c inline register bool true nullptr typeof
    container_of offsetof KERNEL_VERSION constexpr signed wait read xdp u32 errno""".split()
lua = set("and break do else elseif end false for function global goto if in local nil not or repeat return then true until while".split())
choose = random.Random(7)
taken = refused = 0
for word in words:
    names = [choose.choice([w for w in words if w not in lua]) for _ in range(3)]
    with open("words.lua", "w") as script:
        script.write('require("xdp").attach(function() end)\n')
        script.write(f'return {{["{word}"] = function({", ".join(["pkt"] + names)}) return {names[0]} end}}\n')
    built = subprocess.run([moonhook, "build", "--library", "words.lua", "-o", "first.bpf.o"], capture_output=True, text=True)
    if built.returncode == 1 and "MH0119" in built.stderr:
        refused += 1
        continue
    assert built.returncode == 0, f"{word}: {built.stderr}"
    taken += 1
    with open("words.c", "w") as text:
        text.write('#include <linux/types.h>\n#include <linux/bpf.h>\n#include "first.h"\n#include "second.h"\n#include <bpf/bpf_helpers.h>\n')
        text.write('extern void bpf_rcu_read_lock(void) __ksym;\nextern void bpf_rcu_read_unlock(void) __ksym;\nchar LICENSE_[] SEC("license") = "GPL";\n')
        text.write(f'SEC("xdp") int program_of_c(struct xdp_md *context) {{ bpf_rcu_read_lock(); bpf_rcu_read_unlock(); return {word}(context, 1, 2, 3) + second(context) + first(context) > 0; }}\n')
    subprocess.run([clang, "-Wall", "-Werror", "-O2", "-g", "-target", "bpf", "-I", include, "-c", "words.c", "-o", "words.o"], check=True)
    subprocess.run(["bpftool", "gen", "object", "words.linked.o", "words.o", "first.bpf.o", "second.bpf.o"], check=True)
    subprocess.run(["bpftool", "prog", "load", "words.linked.o", pin], check=True, stderr=subprocess.PIPE)
    subprocess.run(["rm", pin], check=True)
print(taken, refused)
PY
printf 'require("xdp").attach(function() end) return {n = function(pkt) return 1 end}\n' >second.lua
"$MOONHOOK" build --library second.lua -o second.bpf.o >/dev/null
mkdir -p "$BPFFS"
python3 words.py "$MOONHOOK" "$CLANG" "/usr/include/$(uname -m)-linux-gnu" "$BPFFS/words" >words.out
read -r taken refused <words.out
[ "$taken" -gt 20 ] && [ "$refused" -gt 20 ] || die "names taken and refused: $(cat words.out)"

# Handlers at several places are a function for each, and functions beside them are for the same hook; they get objects of the module `data`.
cat >places.lua <<'LUA'
local tc, data = require "tc", require "data"
tc.ingress(function(pkt) if #pkt == 60 then return 2 end end)
tc.ingress(function(pkt) if #pkt == 61 then error("no") end return 0 end, { first = true })
return { length = function(pkt, off, more) return #pkt:segment(off) + more end }
LUA
cat >places.c <<'C'
#include <linux/bpf.h>
#include "places.h"
#include <bpf/bpf_helpers.h>
long long out[3];
SEC("tc") int program(struct __sk_buff *ctx)
{
	out[0] = places_tc_ingress(ctx);
	out[1] = places_tc_ingress_1(ctx);
	out[2] = length(ctx, 10, 10);
	return 0;
}
char LICENSE[] SEC("license") = "GPL";
C
for form in expanded general; do
    "$MOONHOOK" build --library places.lua -o places.bpf.o --form $form >/dev/null
    "$CLANG" -Wall -Werror -O2 -g -target bpf -I"/usr/include/$(uname -m)-linux-gnu" -c places.c -o places.o
    bpftool gen object places.linked.o places.o places.bpf.o
    bpftool prog load places.linked.o "$BPFFS/places" 2>/dev/null
    for case in "60 2 0 60" "61 -1 -2 61" "62 -1 0 62"; do
        read -r length one other size <<<"$case"
        head -c "$length" /dev/zero >frame.bin
        bpftool prog run pinned "$BPFFS/places" data_in frame.bin >/dev/null
        id=$(bpftool -j prog show pinned "$BPFFS/places" | jq '.map_ids[]' | while read -r map; do
            bpftool -j map show id "$map" | jq -r 'select(.name | endswith(".bss")) | .id'
        done)
        found=$(bpftool -j map dump id "$id" | jq -c '.[0].formatted.value[".bss"][].out // empty')
        [ "$found" = "[$one,$other,$size]" ] || die "$form, $length bytes: $found"
    done
    rm "$BPFFS/places"
done

# Neither file is written if the other one cannot be, and nothing is left of what was begun.
mkdir -p files && cd files
cp ../second.lua .
printf 'precious\n' >second.h
"$MOONHOOK" build --library second.lua -o second.bpf.o 2>error.out && die "a header of somebody's is overwritten"
grep -q MH0035 error.out && [ ! -e second.bpf.o ] && grep -q precious second.h || die "$(cat error.out)"
rm second.h
{ (ulimit -f 1; "$MOONHOOK" build --library second.lua -o second.bpf.o --form general) && die "there is no limit"; } >/dev/null 2>&1
is "error.out second.lua" echo $(ls -A)
"$MOONHOOK" build --library second.lua -o /dev/null >/dev/null
"$MOONHOOK" build --library second.lua -o second.h >/dev/null 2>error.out && die "an object is called like its header"
is "error.out second.lua" echo $(ls -A)
