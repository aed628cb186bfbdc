-- Measures a LuaJIT packet handler: `luajit main.lua HANDLER.lua LIST FRAME…`.
--
-- For each line `INDEX REPEAT` on its input it calls the handler that often with that frame (counted from 1) and answers
-- `NANOSECONDS VERDICT`: the time of this thread, and what all calls returned (0 if they differed). The loop is in Lua, so
-- that the handler is compiled into it. The frame lies in memory several times, and each call gets the next copy: with one
-- address LuaJIT would move the reads of the packet out of the loop and measure nothing.
local ffi = require "ffi"

ffi.cdef [[
  struct timespec { long seconds, nanoseconds; };
  int clock_gettime(int clock, struct timespec *time);
]]

local THREAD_CPUTIME = 3
local COPIES, STRIDE = 16, 2048 + 64

local time = ffi.new("struct timespec")
local function now()
  ffi.C.clock_gettime(THREAD_CPUTIME, time)
  return tonumber(time.seconds) * 1e9 + tonumber(time.nanoseconds)
end

local function load_frame(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("*a")
  file:close()
  assert(#text <= STRIDE - 64, "frame too long")
  local bytes = ffi.new("uint8_t[?]", COPIES * STRIDE)
  for copy = 0, COPIES - 1 do
    ffi.copy(bytes + copy * STRIDE, text, #text)
  end
  return { bytes = bytes, length = #text }
end

local handler = assert(loadfile(arg[1]))(arg[2])
local frames = {}
for i = 3, #arg do
  frames[#frames + 1] = load_frame(arg[i])
end

local band = require("bit").band
local function run(frame, count)
  local bytes, length, sum = frame.bytes, frame.length, 0
  for i = 1, count do
    sum = sum + handler(bytes + band(i, COPIES - 1) * STRIDE, length)
  end
  return sum
end

for line in io.lines() do
  local index, count = line:match("^(%d+) (%d+)$")
  count = tonumber(count)
  local before = now()
  local sum = run(frames[tonumber(index)], count)
  local verdict = sum / count
  io.write(string.format("%.0f %d\n", now() - before, verdict == math.floor(verdict) and verdict or 0))
  io.flush()
end
