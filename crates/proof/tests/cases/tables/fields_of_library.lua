-- Fields that hold tables of the script and, in other objects, tables of the library: directly, by a metatable, or by assignment of
-- load time.
-- frames: udp tcp
local xdp = require "xdp"
local holders = { { part = {} }, { part = math }, setmetatable({}, { __index = { part = string } }) }
local behind = setmetatable({ own = {} }, { __index = _G })
xdp.attach(function(pkt)
  local n = #pkt > 0 and "r" or "x"
  for i, holder in ipairs(holders) do
    local part = holder.part
    print(i, part["flo" .. "o" .. n] ~= nil, part[n .. "e" .. "p"] ~= nil)
  end
  print(behind.own["flo" .. "o" .. n], behind["mat" .. "h"] == math, behind.string["by" .. "te"] == string.byte)
  local made = { own = table }
  print(made.own["conca" .. "t"] == table.concat)
end)
