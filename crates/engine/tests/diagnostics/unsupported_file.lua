local xdp = require "xdp"

local file = assert(io.open("unsupported_file.lua"))
xdp.attach(function(pkt)
  print(file:read("l"))
end)
