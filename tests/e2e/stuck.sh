#!/usr/bin/env bash
# One packet cannot freeze the process: control code that goes on for ever inside a function of the library is cut off or left behind,
# and until then commands are answered, signals end the process, and packets go through the handlers.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common"

begin stuck
local_pair

# What a datagram to port 7001 says is done by control code.
cat >"$WORK/ua.lua" <<'LUA'
count = 0
local seen = map { key = "int", value = "int" }
turns = 0
require("xdp").attach(function(pkt)
  local udp = pkt.udp
  if udp and udp.dport == 7001 then
    count = count + 1
    seen[1] = (seen[1] or 0) + 1
    event("ua", pkt:getstring(42, #pkt - 42))
  end
end)

-- What the iterator of a table gives, again and again, without an instruction in between.
local endless = setmetatable({}, {__index = getmetatable, __metatable = ""})

on("ua", function(s)
  if s:find("^slow") then
    print("slow", s:find(".-.-.-.-.-.-b$"))
  elseif s:find("^endless") then
    print("endless", table.concat(endless, "", 1, 1 << 60))
  else
    print("quick", s:match("^%w+"))
  end
end)
timer.every(0.2, function() turns = turns + 1 end)
LUA

# start SCRIPT…: runs them as `ua` and waits until they are attached.
start() {
    # What an earlier process said is not what this one says.
    rm -f "$WORK/ua.out"
    "$MOONHOOK" run right0 "$@" --netns "$NETNS" --name ua >"$WORK/ua.out" 2>"$WORK/ua.err" </dev/null &
    RUN=$!
    eventually "moonhook run attaches" grep -qs '^attached' "$WORK/ua.out"
}

send() {
    ip netns exec "$NETNS" bash -c "printf %s '$1' >/dev/udp/192.0.2.2/7001"
}

# spent PID: the processor time of a process so far, in hundredths of a second.
spent() {
    awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$1/stat"
}

# is_at_work PID SINCE: the process is in the middle of what takes long: it has used half a second of a processor since it had used that much.
is_at_work() {
    [ "$(spent "$1")" -ge "$(($2 + 50))" ]
}

# promptly COMMAND…: it succeeds within six seconds, less than what is cut off takes, or three tenths of the patience that a slow machine
# is given.
promptly() {
    timeout "$((${MOONHOOK_PATIENCE:-20} * 3 / 10))" "$@" >"$WORK/promptly.out" 2>&1 || die "not promptly: $*: $(cat "$WORK/promptly.out")"
}

# ends_promptly: the process ends by itself before what it is at could have been cut off.
ends_promptly() {
    local status=0
    timeout 8 tail --pid="$RUN" -f /dev/null || die "the process does not end"
    wait "$RUN" || status=$?
    [ "$status" = "${1:-0}" ] || die "it ended with $status: $(cat "$WORK/ua.err")"
    RUN=
}

# in_time WHAT PATTERN: the process says so, when it has had twelve seconds of a processor that others want, too.
in_time() {
    local deadline=$((SECONDS + 120))
    until grep -q "$2" "$WORK/ua.err"; do
        [ "$SECONDS" -lt "$deadline" ] || die "it did not happen: $1: $(cat "$WORK/ua.err")"
        sleep 0.2
    done
}

counted() {
    [ "$("$MOONHOOK" table ua seen get 1)" = "$1" ]
}

slow=slow$(printf 'a%.0s' {1..300})

echo "a slow pattern: everything is answered meanwhile, and it is cut off"
start "$WORK/ua.lua"
send quick1
eventually "control code runs" grep -qx 'quick	quick1' "$WORK/ua.out"
since=$(spent "$RUN")
send "$slow"
eventually "control code is at work" is_at_work "$RUN" "$since"
promptly "$MOONHOOK" list
promptly "$MOONHOOK" table ua seen get 1
promptly "$MOONHOOK" table ua seen
send quick2
eventually "packets are counted" counted 3
in_time "the function is cut off" 'the function was stopped: it ran for more than 10 seconds'
eventually "what came behind it is seen to" grep -qx 'quick	quick2' "$WORK/ua.out"
[ "$("$MOONHOOK" exec ua -e count)" = 3 ] || die "the count is lost"
! grep -q 'left behind' "$WORK/ua.err" || die "a state that could be cut off was left behind"

echo "signals and stop end the process in the middle of it"
since=$(spent "$RUN")
send "$slow"
eventually "control code is at work" is_at_work "$RUN" "$since"
promptly "$MOONHOOK" stop ua
ends_promptly
start "$WORK/ua.lua"
since=$(spent "$RUN")
send "$slow"
eventually "control code is at work" is_at_work "$RUN" "$since"
kill -TERM "$RUN"
ends_promptly

echo "code from outside that does not end: others are answered, and so is who sent it"
start "$WORK/ua.lua"
since=$(spent "$RUN")
"$MOONHOOK" exec ua -e '("a"):rep(300):find(".-.-.-.-.-.-b$")' >"$WORK/exec.out" 2>"$WORK/exec.err" &
EXEC=$!
PIDS+=("$EXEC")
eventually "the code is at work" is_at_work "$RUN" "$since"
promptly "$MOONHOOK" list
promptly "$MOONHOOK" reload ua
status=0
wait "$EXEC" || status=$?
[ "$status" = 1 ] || die "exec ended with $status: $(cat "$WORK/exec.err")"
grep -q 'the function was stopped' "$WORK/exec.err" || die "$(cat "$WORK/exec.err")"

echo "a function of the library without an end is left behind; timers and events go on in a new state"
before=$("$MOONHOOK" exec ua -e count)
since=$(spent "$RUN")
send endless
eventually "control code is at work" is_at_work "$RUN" "$since"
send meanwhile
promptly "$MOONHOOK" list
in_time "the state is left behind" 'its Lua state is left behind'
in_time "control code begins anew" 'control code has begun anew'
eventually "events that came meanwhile are seen to" grep -qx 'quick	meanwhile' "$WORK/ua.out"
send quick3
eventually "events are seen to" grep -qx 'quick	quick3' "$WORK/ua.out"
eventually "timers go off" sh -c "[ \"\$($MOONHOOK exec ua -e 'turns > 0')\" = true ]"
[ "$("$MOONHOOK" exec ua -e count)" = $((before + 3)) ] || die "the count is lost"
# What is left behind takes only what nobody else wants.
idle=0
for task in /proc/"$RUN"/task/*; do
    # Other threads come and go.
    if [ "$(cut -d' ' -f41 "$task/stat" 2>/dev/null)" = 5 ]; then idle=$((idle + 1)); fi
done
[ "$idle" = 1 ] || die "$idle threads have the policy SCHED_IDLE"
promptly "$MOONHOOK" reload ua
send quick4
eventually "events are seen to after a reload" grep -qx 'quick	quick4' "$WORK/ua.out"

echo "load time of a reload that does not end: the present program goes on, and stop ends the process"
cat >"$WORK/load.lua" <<'LUA'
table.concat(setmetatable({}, {__index = getmetatable, __metatable = ""}), "", 1, 1 << 60)
require("xdp").attach(function() end)
LUA
since=$(spent "$RUN")
"$MOONHOOK" reload ua "$WORK/load.lua" >"$WORK/reload.out" 2>&1 &
PIDS+=("$!")
eventually "load time is at work" is_at_work "$RUN" "$since"
promptly "$MOONHOOK" list
send quick5
eventually "events are seen to" grep -qx 'quick	quick5' "$WORK/ua.out"
promptly "$MOONHOOK" stop ua
ends_promptly

echo "load time of run and check: Ctrl-C and SIGTERM end it"
for signal in INT TERM; do
    env --default-signal=INT "$MOONHOOK" run right0 "$WORK/load.lua" --netns "$NETNS" --name ua \
        >"$WORK/ua.out" 2>"$WORK/ua.err" </dev/null &
    RUN=$!
    eventually "load time is at work" is_at_work "$RUN" 0
    kill -"$signal" "$RUN"
    ends_promptly
    [ ! -s "$WORK/ua.out" ] || die "it said: $(cat "$WORK/ua.out")"
done
for signal in INT TERM; do
    env --default-signal=INT "$MOONHOOK" check "$WORK/load.lua" >"$WORK/ua.out" 2>"$WORK/ua.err" </dev/null &
    RUN=$!
    eventually "load time is at work" is_at_work "$RUN" 0
    kill -"$signal" "$RUN"
    ends_promptly $((128 + $(kill -l "$signal")))
done
echo "everything went as expected"
