-- Operands that the compiler exchanges are named in the order of the source; what stands for `x - 1` is a subtraction.
-- frames: tcp udp short
local xdp = require "xdp"
local tests = {
  function(s) return 10 + s end, function(s) return 10 * s end, function(s) return s - 1 end, function(s) return s + 1 end,
  function(s) return 1 << s end, function(s) return s << 1 end, function(s) return s >> 1 end, function(s) return 7 & s end,
  function(s) return 10 // s end, function(s) return -s end, function(s) return ~s end, function(s) return 2 - s end,
}
for i = 1, #tests do
  local test = tests[i]
  xdp.attach(function(pkt)
    if pkt:getbyte(pkt.tcp and 1 or 0) % #tests == i - 1 then return end
    if #pkt % #tests == i % #tests then print(test(pkt.udp and "abc" or "10")) end
  end)
end
xdp.attach(function(pkt)
  local s = pkt.tcp and "abc" or 5
  print(10 + s)
end)
