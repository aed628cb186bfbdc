-- Functions that compute with floats take every numeral for a float, and what rounds gives an integer where there is one.
-- frames: udp tcp
local xdp = require "xdp"
xdp.attach(function(pkt)
  local n = #pkt
  print(math.type(math.abs("10")), math.abs("-7") == 7, math.abs(" 1e2 ") == 100, math.abs(-n), math.type(math.abs(-2)))
  print(math.floor("10"), math.ceil("-2.5"), math.floor("9007199254740993"), math.floor("0x10"), math.floor(n))
  print(math.type(math.ceil("0x7fffffffffffffff")), math.ult("1", "0x2"), math.tointeger("8"), math.type("1"))
  if pkt.udp then print(math.floor("ten")) end
  print(math.type())
end)
