-- Strings as the values of a numeric for: a limit may be the numeral of an integer, everything else is an error.
-- frames: udp
local xdp = require "xdp"
local function count(a, b, c)
  return pcall(function()
    local n = 0
    for i = a, b, c do n = n + i end
    return n
  end)
end
xdp.attach(function(pkt)
  for i = 1, tostring(#pkt) do
    if i > 50 then print(i) end
  end
  print(count(1, "3", 1), count(1, " 0x10 ", 5), count(1, "x", 1), count("x", 1, 1), count(1, 5, "x"), count({}, "x", nil))
  print(count(1, {}, "x"), count(nil, 1, "x"), count(1, 2, {}), count(3, "1", -1))
  for i = 1, "2" do print(i) end
  print(pcall(function() for i = "x", 2 do end end))
  print(pcall(function() for i = 1, "y" do end end))
  for i = 1, ("z" .. #pkt) do end
end)
