#!/usr/bin/env bash
# Scripts of Lunatik that are for processes: a service with a state for each client, one that keeps values in common, statistics at a path, and one that
# is told of interfaces. They come up, answer and stop within a second; without `--control` their modules are not there.
# With MOONHOOK_PEERS, a folder with Lunatik's checkout, its own scripts do the same.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin lunatik_control
have curl || skip "curl is not installed"
namespace NETNS one
need_bpffs
ip -n "$NETNS" link set lo up

mkdir -p "$WORK/root/services"
cat >"$WORK/root/services/echo.lua" <<'LUA'
local lunatik, thread, linux = require("lunatik"), require("thread"), require("linux")
local inet, data = require("socket.inet"), require("data")
local NONBLOCK = require("linux.socket").sock.NONBLOCK

local count = data.new(4)
local server = inet.tcp()
server:bind(inet.localhost, 1337)
server:listen()

return function()
  while not thread.shouldstop() do
    local accepted, session = pcall(server.accept, server, NONBLOCK)
    if accepted then
      local client = lunatik.runtime("services/client")
      client:resume(count, session)
      thread.run(client, "client")
    elseif session == "EAGAIN" then
      linux.schedule(50)
    end
  end
  print("clients", count:getuint32(0))
end
LUA
cat >"$WORK/root/services/client.lua" <<'LUA'
return function(count, session)
  count:setuint32(0, count:getuint32(0) + 1)
  return function()
    repeat
      local text = session:receive(100)
      session:send(text)
    until text == ""
  end
end
LUA
cat >"$WORK/root/services/links.lua" <<'LUA'
local notifier, netdev = require("notifier"), require("linux.netdev")
local names = { [netdev.REGISTER] = "came", [netdev.UNREGISTER] = "went" }

notifier.netdevice(function(event, name)
  if names[event] then print(name, names[event]) end
  return 0
end)
-- What is told of interfaces goes on although nobody has its handle.
collectgarbage()
LUA

# Starts a script in the namespace; RUN and OUT are its process and what it prints.
start() {
  OUT=$WORK/out
  : >"$OUT"
  ip netns exec "$NETNS" "$MOONHOOK" run "$1" --root "$2" --control --name it >"$OUT" 2>&1 &
  RUN=$!
  for _ in $(seq 100); do
    grep -q '^running ' "$OUT" && return
    sleep 0.1
  done
  cat "$OUT"
  die "$1 does not start"
}

# Sends a text to a port of the namespace, and shows so many bytes of the answer.
ask() {
  # shellcheck disable=SC2016
  ip netns exec "$NETNS" timeout 3 bash -c 'exec 3<>/dev/tcp/127.0.0.1/$1; printf "$2" >&3; head -c "$3" <&3' ask "$@"
}

# Two clients at once, each with lines of its own that come back, while the other one's are on their way; three turns.
two_at_once() {
  ip netns exec "$NETNS" timeout 10 python3 -c '
import socket
with socket.create_connection(("127.0.0.1", 1337), 3) as one, socket.create_connection(("127.0.0.1", 1337), 3) as other:
    for turn in range(3):
        lines = [(to, b"%s %d\n" % (name, turn)) for to, name in ((one, b"one"), (other, b"other"))]
        for to, line in lines:
            to.sendall(line)
        for to, line in reversed(lines):
            got = to.recv(100)
            assert got == line, (got, line)
print("both")'
}

# Stops what runs, which gets to an end by itself.
end() {
  "$MOONHOOK" stop it >/dev/null
  timeout 30 tail --pid="$RUN" -f /dev/null || die "it does not end"
  wait "$RUN"; RUN=''
  ! grep 'went on after it was to stop' "$OUT" || die "it was ended"
}

start "$WORK/root/services/echo.lua" "$WORK/root"
[ "$(ask 1337 one 3)" = one ] || die "no echo"
[ "$(ask 1337 two 3)" = two ] || die "no second echo"
[ "$(two_at_once)" = both ] || die "no echoes for two at once"
if "$MOONHOOK" reload it >"$WORK/refused" 2>&1; then die "it is replaced while it runs"; fi
grep -q MH0037 "$WORK/refused" || die "nothing says why it is not replaced: $(cat "$WORK/refused")"
"$MOONHOOK" list | grep -q '^it ' || die "it is not listed"
end
grep -qx "clients	4" "$OUT" || die "the count is not shared: $(cat "$OUT")"

start "$WORK/root/services/links.lua" "$WORK/root"
ip -n "$NETNS" link add veth7 type veth peer name veth8
ip -n "$NETNS" link del veth7
for _ in $(seq 30); do
  grep -q "veth7	went" "$OUT" && break
  sleep 0.1
done
end
grep -qx "lo	came" "$OUT" && grep -qx "veth7	came" "$OUT" && grep -qx "veth7	went" "$OUT" || die "$(cat "$OUT")"

if ip netns exec "$NETNS" "$MOONHOOK" check "$WORK/root/services/echo.lua" --root "$WORK/root" >"$WORK/refused" 2>&1; then
  die "it is taken without --control"
fi
grep -q -- '--control' "$WORK/refused" || die "nothing says what is missing: $(cat "$WORK/refused")"

lunatik=${MOONHOOK_PEERS:-}/luainkernel+lunatik
if [ -n "${MOONHOOK_PEERS:-}" ] && [ -d "$lunatik" ]; then
  mkdir "$WORK/theirs"
  cp -r "$lunatik/examples" "$WORK/theirs/examples"
  start "$WORK/theirs/examples/echod/daemon.lua" "$WORK/theirs"
  [ "$(two_at_once)" = both ] || die "Lunatik's echod does not answer two at once"
  [ "$(ask 1337 theirs 6)" = theirs ] || die "Lunatik's echod does not answer"
  end
  # Each client has a worker. Its number is that of the newest one when it begins.
  [ "$(grep -c 'worker #[123]\]: started' "$OUT")" = 3 ] && grep -q 'worker #3\]: started' "$OUT" || die "$(cat "$OUT")"
  start "$WORK/theirs/examples/shared.lua" "$WORK/theirs"
  ask 90 'key=value\n' 0
  [ "$(ask 90 'key\n' 5)" = value ] || die "Lunatik's shared does not answer"
  end
  start "$WORK/theirs/examples/cpuexporter.lua" "$WORK/theirs"
  # What it says first is of all time since the machine has booted, of which it knows a part: its first sample leaves the sums out.
  for _ in 1 2; do
    curl -s --max-time 3 --unix-socket /tmp/cpuexporter.sock http://localhost/metrics >"$WORK/metrics" || true
    sleep 0.5
  done
  # status ARGUMENT…: what the exporter answers to another request.
  status() { curl -s --max-time 3 -o /dev/null -w '%{http_code}' --unix-socket /tmp/cpuexporter.sock "$@" || true; }
  [ "$(status http://localhost/other) $(status -d x http://localhost/metrics)" = '404 405' ] || die "Lunatik's cpuexporter refuses nothing"
  end
  rm -f /tmp/cpuexporter.sock
  grep -q 'cpu_usage_system{cpu="cpu0"}' "$WORK/metrics" || die "Lunatik's cpuexporter does not answer"
  # Of each processor all its time is somewhere.
  awk '/^cpu_usage_/ { split($1, part, "\""); sum[part[2]] += $2 } END { for (cpu in sum) if (sum[cpu] < 99.9 || sum[cpu] > 100.1) exit 1 }' "$WORK/metrics" ||
    die "Lunatik's cpuexporter does not sum up: $(cat "$WORK/metrics")"
fi

# Handlers of a script for processes: those that need nothing of it run in the kernel, and print; those that use its objects run in it.
cat >"$WORK/root/both.lua" <<'LUA'
local netfilter, nf = require("netfilter"), require("linux.nf")
local fifo, counts = require("fifo").new(64), require("rcu").table()
netfilter.register{ pf = nf.proto.IPV4, hooknum = nf.inet.LOCAL_IN, priority = 11, hook = function(skb)
  if skb:data():getuint8(9) ~= 17 then return nf.action.ACCEPT end
  print("in the kernel")
  return nf.action.ACCEPT
end }
netfilter.register{ pf = nf.proto.IPV4, hooknum = nf.inet.LOCAL_IN, priority = 12, hook = function(skb)
  if skb:data():getuint8(9) ~= 17 then return nf.action.ACCEPT end
  fifo:push("word")
  counts.seen = (counts.seen or 0) + 1
  print(fifo:pop(4), counts.seen)
  return nf.action.DROP
end }
LUA
attach "$WORK/root/both.lua" --root "$WORK/root" --control --netns "$NETNS"
grep -q 'LOCAL_IN 12 runs as NFQUEUE because .*both.lua:10 uses what is in the process' "$WORK/run.out" || die "$(cat "$WORK/run.out")"
ip netns exec "$NETNS" python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", 9))'
eventually "both print" grep -qxP 'word\t1' "$WORK/run.out"
grep -qx 'in the kernel' "$WORK/run.out" || die "$(cat "$WORK/run.out")"
finish
grep -q 'errors 0' "$WORK/run.out" || die "$(cat "$WORK/run.out")"

# What is out of the sandbox: files anywhere, also for writing, and `debug`; in the script's own state and in others. Without `--control` it is not.
cat >"$WORK/root/files.lua" <<LUA
local name = "$WORK/written"
local function try()
  local file = assert(io.open(name, "w"))
  assert(file:write("one\ntwo\n") and file:flush())
  file:close()
  assert(assert(io.open(name, "a")):write("three\n")):close()
  local lines = {}
  for line in io.lines(name) do lines[#lines + 1] = line end
  local missing, why = io.open("/nonexistent/file")
  print(table.concat(lines, " "), missing, type(why), pcall(io.open, name, "x"))
  require("util").test("of files", function() error("on purpose") end)
end
try()
return try
LUA
cat >"$WORK/root/files_twice.lua" <<'LUA'
require("files")
require("lunatik").runtime("files"):resume()
print(#debug.traceback() > 0, debug.debug)
print((pcall(require("rcu").table, 1 << 58)), pcall(require("rcu").table, -1))
LUA
start "$WORK/root/files_twice.lua" "$WORK/root"
end
# Of the main script, and of the other state when it is loaded and when it is resumed.
[ "$(grep -c '^one two three	nil	string	false	bad argument #2 to .*open. (invalid mode)' "$OUT")" = 3 ] || die "$(cat "$OUT")"
[ "$(grep -c '^FAIL	of files	.*on purpose' "$OUT")" = 3 ] && [ "$(grep -c '^stack traceback' "$OUT")" = 3 ] || die "$(cat "$OUT")"
grep -qx 'true	nil' "$OUT" && grep -qx 'false	false	not enough memory' "$OUT" || die "$(cat "$OUT")"
rm "$WORK/written"
fails 1 "$MOONHOOK" run "$WORK/root/files.lua" --root "$WORK/root"
grep -q 'files can only be read at load time\|outside of the script' "$WORK/fails.err" || die "$(cat "$WORK/fails.err")"
[ ! -e "$WORK/written" ] || die "a script in the sandbox writes"

# The commands that Lunatik has: scripts go on in the background, by their names.
cat >"$WORK/root/services/drop.lua" <<'LUA'
local netfilter, nf = require("netfilter"), require("linux.nf")
netfilter.register{ hook = function(skb)
  return skb:data():getuint8(9) == 17 and nf.action.DROP or nf.action.ACCEPT
end, pf = nf.proto.IPV4, hooknum = nf.inet.LOCAL_OUT, priority = 7 }
LUA
lunatik() {
  local operation=$1
  shift
  ip netns exec "$NETNS" "$MOONHOOK" lunatik "$operation" "$@" --root "$WORK/root" --log-folder "$WORK/logs"
}
lunatik spawn services/echo
[ "$(ask 1337 word 4)" = word ] || die "what was spawned does not answer"
fails 3 lunatik spawn services/echo
fails 3 lunatik run services/nothing
grep -q MH0101 "$WORK/fails.err" || die "$(cat "$WORK/fails.err")"
# sends: whether a datagram may leave; what is dropped there the sender is told.
sends() {
  ip netns exec "$NETNS" timeout 5 python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", 9))' 2>"$WORK/sends.log"
}
sends || die "datagrams are not sent before the handler is there: $(cat "$WORK/sends.log")"
lunatik run services/drop softirq
"$MOONHOOK" lunatik list | grep -q '^services.drop ' || die "it is not listed"
! sends || die "datagrams are sent"
grep -q PermissionError "$WORK/sends.log" || die "datagrams are not sent: $(cat "$WORK/sends.log")"
"$MOONHOOK" lunatik reload services/drop
fails 1 "$MOONHOOK" lunatik reload services/echo
"$MOONHOOK" lunatik stop services/drop
"$MOONHOOK" lunatik stop services/echo
sends || die "datagrams are not sent when the handler is gone: $(cat "$WORK/sends.log")"
[ "$("$MOONHOOK" list --json)" = "[]" ] || die "something runs still"
grep -qx "clients	1" "$WORK/logs/services.echo.log" || die "$(cat "$WORK/logs/services.echo.log")"
# Without `spawn`, a function that is returned waits.
lunatik run services/echo
! ask 1337 word 4 | grep -q word || die "the function runs"
"$MOONHOOK" lunatik stop services/echo
