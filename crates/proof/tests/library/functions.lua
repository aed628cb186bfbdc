-- Functions that a program in C calls, and that real Lua calls with the same arguments.
local M = {}
local total = 0
local seen = {}
local names = { [0] = "zero", "one", "two" }

local function fold(pkt, step)
  local sum = 0
  for at = 0, math.min(#pkt, 64) - 1, step do sum = sum * 31 + pkt:getbyte(at) end
  return sum
end

function M.sum(pkt, a, b) return a + b end
function M.quotient(pkt, a, b) return a // b end
function M.remainder(pkt, a, b) return a % b end
function M.shift(pkt, a, b) return a << b ~ (a >> 3) end
function M.less(pkt, a, b) return a < b end
function M.nothing(pkt, a) if a > 0 then return end return a end
function M.length(pkt) return #pkt end
function M.word(pkt, at) return pkt:getuint16(at) end
function M.folded(pkt, step) return fold(pkt, (step & 7) + 1) end
function M.five(pkt, a, b, c, d) return a ~ b << 1 ~ c << 2 ~ d << 3 end
function M.text(pkt, a) return names[a & 3] end
function M.fails(pkt, a) if a & 1 == 1 then error("odd: " .. a) end return a end
function M.running(pkt, a) total = total + a return total end
function M.times(pkt, key) seen[key & 7] = (seen[key & 7] or 0) + 1 return seen[key & 7] end
function M.joined(pkt, a) local text = "x" .. a .. "-" .. (a >> 1) return #text * 256 + text:byte(#text) end

return M
