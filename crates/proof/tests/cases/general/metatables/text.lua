-- __tostring, __name, __concat, __len (manual § 2.4, § 6.2).
-- frames: hex:0203000000000000000000000000 hex:fe00000000000000000000000000
local xdp = require "xdp"
local meta = { __tostring = function(t) return "T" .. t.n end, __name = "thing" }
meta.__concat = function(a, b) return tostring(a) .. "~" .. tostring(b) end
meta.__len = function(t) return t.n * 2 end
xdp.attach(function(pkt)
  local n = pkt:getint8(0)
  local t = setmetatable({ n = n }, meta)
  print(t, tostring(t), #t, rawlen(t), string.format("%s|%5s|%.1s", t, t, t))
  print(t .. "x", "x" .. t, t .. n, n .. t, 1 .. t, t .. t, "a" .. "b" .. t .. "c" .. n, t .. nil, nil .. t)
  print(pcall(tostring, setmetatable({}, { __tostring = function() return n end })))
  print(pcall(tostring, setmetatable({}, { __tostring = function() return nil end })))
  print(pcall(function() return setmetatable({}, { __name = "my type" }) + n end))
  print(pcall(function() return #setmetatable({}, { __name = "my type" }) < setmetatable({}, { __name = "other" }) end))
  print(pcall(function() return setmetatable({}, { __name = "my type" }) < setmetatable({}, { __name = "other" }) end))
  print(pcall(string.rep, setmetatable({}, { __name = "my type" })))
  print((tostring(setmetatable({}, { __name = "my type" })):gsub("0x.*", "ADDRESS")))
  print(pcall(function() return {} .. "x" end))
  print(pcall(function() return "x" .. {} end))
  print(pcall(function() return n .. {} .. "x" end))
  local sized = setmetatable({ 1, 2, 3 }, { __len = function() return 2 end })
  print(#sized, rawlen(sized), table.concat(sized, ","), select("#", table.unpack(sized)))
  table.insert(sized, "new")
  print(rawget(sized, 3), rawlen(sized))
  error(t)
end)
