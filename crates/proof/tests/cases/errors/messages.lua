-- Errors at packet time: message and position as real Lua words them.
-- frames: hex:0000000000000000000000000000 hex:0100000000000000000000000000 hex:0200000000000000000000000000
-- frames: hex:0300000000000000000000000000 hex:0400000000000000000000000000 hex:0500000000000000000000000000
-- frames: hex:0600000000000000000000000000 hex:0700000000000000000000000000 hex:0800000000000000000000000000
-- frames: hex:0900000000000000000000000000 hex:0a00000000000000000000000000 hex:0b00000000000000000000000000
-- frames: hex:0c00000000000000000000000000 hex:0d00000000000000000000000000 hex:0e00000000000000000000000000
local xdp = require "xdp"
local names = { "one", "two", nil, "four", [0] = false }
xdp.attach(function(pkt)
  local n = pkt:getuint8(0)
  local name = names[n]
  if n == 5 then error("an error") end
  if n == 6 then error("without position", 0) end
  if n == 7 then error("number " .. n) end
  if n == 8 then error() end
  if n == 9 then error(n) end
  if n == 10 then assert(name) end
  if n == 11 then assert(name, "no name") end
  if n == 12 then assert(n < 5, "number " .. n .. " is too large") end
  if n == 13 then error(nil) end
  if n == 14 then error(true) end
  print(assert(n, "fine"), #name, name .. "!")
  print(name < "two", name + 1)
end)
