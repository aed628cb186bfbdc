local xdp = require "xdp"
local names = map{key = "string:8", value = "int"}
names["a name of thirty-three bytes here"] = 1
xdp.attach(function(pkt)
  local name = pkt:getstring(14, 8)
  names[name] = (names[name] or 0) + 1
end)
