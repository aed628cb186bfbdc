-- Copies of packets, as real Lua has them: what programs have of their own under the same names (crates/library/src/own/copies.rs). A buffer is a table
-- with its bytes as a string.
--
-- Reads `lib` (the standard library), and how many bytes buffers have for the link's header, of a packet, and to grow into.

local lib, LINK <const>, KEPT <const>, ROOM <const> = ...
local min, pack, unpack = lib.math.min, lib.string.pack, lib.string.unpack
local byte, rep, sub = lib.string.byte, lib.string.rep, lib.string.sub

local own = { peek = {}, poke = {} }

local function replace(buffer, at, bytes)
  local text = buffer.text
  buffer.text = sub(text, 1, at) .. bytes .. sub(text, at + #bytes + 1)
end

-- Handlers here get packets without a link's header, as in a test run of the kernel (`bpf_prog_test_run_nf`, net/bpf/test_run.c).
function own.make(packet)
  local bytes = packet:getstring(0, min(#packet, KEPT))
  return { text = rep("\0", LINK) .. bytes .. rep("\0", ROOM) }, -1
end

function own.device() return 0 end

function own.again(buffer) return { text = buffer.text } end

function own.bytes(buffer, at, length) return sub(buffer.text, at + 1, at + length) end

function own.put(buffer, at, bytes) replace(buffer, at, bytes) end

function own.clear(buffer, at, length) replace(buffer, at, rep("\0", length)) end

-- Modulo 0xffff, 0 only of zeros (RFC 1071).
function own.sum(buffer, at, length, sum)
  local text = buffer.text
  for i = at + 1, at + length, 2 do
    local low = i < at + length and byte(text, i + 1) or 0
    sum = sum + (byte(text, i) << 8 | low)
  end
  while sum > 0xffff do sum = (sum & 0xffff) + (sum >> 16) end
  return sum ~ 0xffff
end

for size, format in lib.next, { "B", "=I2", [4] = "=I4", [8] = "=i8" } do
  own.peek[size] = function(buffer, at) return (unpack(format, buffer.text, at + 1)) end
  own.poke[size] = function(buffer, at, value)
    -- The low bytes come first on a machine that has them first.
    local bytes = pack("=i8", value)
    local start = byte(pack("=I2", 1)) == 1 and 1 or 9 - size
    replace(buffer, at, sub(bytes, start, start + size - 1))
  end
end

return own
