#!/usr/bin/env bash
# NFLua's own tests, unchanged, with a process in the place of its kernel module: with MOONHOOK_PEERS, a folder with the checkouts
# luainkernel+nflua and cujoai+lua-memory. NFLUA_TESTS names the files that are run, those between two commas beside the others; CASES, a
# pattern of Lua, names their cases.
#
# They load and remove the module by `insmod` and `rmmod`, which are scripts here, in a network and a mount namespace of their own, and read
# the kernel's log, which is a pipe there: who else writes to it is not seen, and nothing is left out.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

IFS=, read -ra GROUPS_OF_TESTS <<<"${NFLUA_TESTS:-lib timer match target,packet}"
# Cases that do not pass, as `name: reason`.
EXPECTED=(
    "allocation size: states may take some more than they are given, for what is in every state"
)

# shim NAME: what standard input has, as a command of that name.
shim() {
    { echo '#!/usr/bin/env bash'; cat; } >"$WORK/bin/$1"
    chmod +x "$WORK/bin/$1"
}

# What runs where NFLua's module would be loaded.
write_shims() {
    mkdir -p "$WORK/bin"
    ln -s "$(command -v lua5.3)" "$WORK/bin/lua"
    shim sudo <<<'exec "$@"'
    # What is written to /dev/kmsg, by nobody else.
    shim dmesg <<<'cat "$PLACE/kmsg.log"'
    # br_netfilter is there, or the test is skipped.
    shim modprobe <<<'exit 0'
    shim insmod <<'SHIM'
[ "$(basename "$1")" = nflua.ko ] || exit 0
if [ -e "$PLACE/module.pid" ]; then echo 'insmod: ERROR: could not insert module: File exists' >&2; exit 1; fi
setsid "$MOONHOOK" nflua run --log-to kmsg >>"$PLACE/module.log" 2>&1 </dev/null &
echo $! >"$PLACE/module.pid"
for _ in {1..100}; do
    [ ! -S "$NFLUA_SOCKET" ] || exit 0
    grep -qs '^State:.[^Z]' "/proc/$(cat "$PLACE/module.pid")/status" || break
    sleep 0.05
done
tail -n 3 "$PLACE/module.log" >&2
exit 1
SHIM
    shim rmmod <<'SHIM'
[ "$1" = nflua ] || exit 0
[ -e "$PLACE/module.pid" ] || { echo "rmmod: ERROR: Module $1 is not currently loaded" >&2; exit 1; }
status=0
"$MOONHOOK" nflua stop >>"$PLACE/module.log" 2>&1 || status=$?
[ "$status" != 3 ] || { echo "rmmod: ERROR: Module $1 is in use" >&2; exit 1; }
exec nflua-end
SHIM
    # Ends it in any case. Nobody may be there to wait for it: then it stays in the list of processes.
    shim nflua-end <<'SHIM'
[ -e "$PLACE/module.pid" ] || exit 0
pid=$(cat "$PLACE/module.pid")
for turn in {1..100}; do
    [ "$turn" != 20 ] || kill -TERM "$pid" 2>/dev/null
    [ "$turn" != 60 ] || kill -KILL "$pid" 2>/dev/null
    grep -qs '^State:.[^Z]' "/proc/$pid/status" || break
    sleep 0.05
done
rm -f "$PLACE/module.pid" "$NFLUA_SOCKET"
SHIM
    shim nflua-again <<<'kill -TERM "$(cat "$PLACE/module.pid")" 2>/dev/null; nflua-end; exec insmod nflua.ko'
}

# run_tests TEST…: in namespaces of its own, with the folder PLACE for what it writes: everything that is mounted here is gone with it.
run_tests() {
    local test
    NFLUA_SOCKET=/run/moonhook/nflua/$(stat -L -c %i /proc/self/ns/net)
    export NFLUA_SOCKET
    mount --make-rprivate /
    mount -t bpf bpf /sys/fs/bpf
    mkdir -p /run/moonhook /run/netns
    mount -t tmpfs tmpfs /run/moonhook
    mount -t tmpfs tmpfs /run/netns
    ip link set lo up
    mkfifo "$PLACE/kmsg"
    mount --bind "$PLACE/kmsg" /dev/kmsg
    cat <>/dev/kmsg >"$PLACE/kmsg.log" &
    LOGGER=$!
    trap 'nflua-end; kill "$LOGGER"' EXIT
    : >"$PLACE/module.log"
    export PATH=$WORK/bin:$PATH XTABLES_LIBDIR=$WORK/xtables:$XTABLES_FOLDER
    export LUA_CPATH="$WORK/lua/?.so;;" LUA_PATH='./?.lua;;'
    cd "$MOONHOOK_PEERS/luainkernel+nflua"
    for test in "$@"; do
        echo "-- $test"
        lua "$REPO/tests/nflua/cases.lua" "tests/$test.lua" 2>>"$PLACE/tests.log"
    done
}

build_lua_memory() {
    local from=$MOONHOOK_PEERS/cujoai+lua-memory/src
    # shellcheck disable=SC2046 # flags are words
    cc -O2 -fPIC -shared -w $(pkg-config --cflags lua5.3) "$from/lmemmod.c" "$from/lmemlib.c" -o "$WORK/lua/memory.so"
}

need_peers() {
    local name
    [ -n "${MOONHOOK_PEERS:-}" ] || skip "MOONHOOK_PEERS does not name a folder with NFLua's checkout"
    for name in luainkernel+nflua/tests cujoai+lua-memory/src; do
        [ -d "$MOONHOOK_PEERS/$name" ] || skip "MOONHOOK_PEERS has no $name"
    done
    have lua5.3 || skip "lua5.3 is not installed"
    lua5.3 -e 'require "socket"; require "posix.fcntl"' 2>/dev/null || skip "lua-socket and lua-posix are not installed"
    [ -e /proc/sys/net/bridge/bridge-nf-call-iptables ] || skip "the kernel has no br_netfilter"
    "$MOONHOOK" nflua run --help >/dev/null 2>&1 || skip "this command has no \`nflua run\`"
}

# Fails for cases that fail although they are not expected to, and for those that pass although they are.
judge() {
    local failed='' line name expected
    while IFS= read -r line; do
        name=${line#FAILED  }
        name=${name%%:*}
        expected=$(printf '%s\n' "${EXPECTED[@]}" | grep -F -- "$name: " || true)
        [ -n "$expected" ] || failed=$failed$'\n'$line
    done < <(grep '^FAILED' "$WORK/tests.out" || true)
    for expected in "${EXPECTED[@]}"; do
        ! grep -qxF "ok      ${expected%%:*}" "$WORK/tests.out" || failed=$failed$'\n'"passes, but is expected to fail: $expected"
    done
    cat "$WORK/tests.out"
    grep -q '^ok' "$WORK/tests.out" || die "nothing passes: $(tail -n 5 "$WORK"/group*/*.log)"
    [ -z "$failed" ] || die "of NFLua's own tests:${failed//$'\n'FAILED/$'\n'    failed}"
}

if [ "${1:-}" = --inside ]; then
    shift
    run_tests "$@"
    exit
fi

begin nflua-upstream
unset MOONHOOK_NFLUA
need_peers
mkdir "$WORK/xtables" "$WORK/lua"
export WORK MOONHOOK XTABLES_FOLDER
XTABLES_FOLDER=$(pkg-config --variable=xtlibdir xtables) || skip "libxtables-dev is not installed"
"$MOONHOOK" nflua install --xtables-dir "$WORK/xtables" --lua 5.3 --lua-dir "$WORK/lua" >"$WORK/install.out"
build_lua_memory
write_shims
for group in "${!GROUPS_OF_TESTS[@]}"; do
    mkdir "$WORK/group$group"
    # shellcheck disable=SC2086 # names are words
    PLACE=$WORK/group$group unshare --net --mount bash "${BASH_SOURCE[0]}" --inside ${GROUPS_OF_TESTS[$group]} \
        >"$WORK/group$group/out" 2>"$WORK/group$group/err.log" &
    PIDS+=($!)
done
for pid in "${PIDS[@]}"; do
    wait "$pid" || die "$(tail -n 5 "$WORK"/group*/err.log)"
done
PIDS=()
cat "$WORK"/group*/out >"$WORK/tests.out"
judge
