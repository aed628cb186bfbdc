-- Names of fields and of library functions that are in global variables, are made for functions that are called back, or come out of
-- objects of packet time; library functions that go through tables under other names.
-- frames: tcp udp short
local xdp = require "xdp"
local pairs, rawget, next = pairs, rawget, next
KEY, FIELD = "ip", "ttl"
math.NAME = "max"
xdp.attach(function(pkt)
  print(pkt[KEY] ~= nil, pkt[KEY] and pkt[KEY][FIELD], math[math.NAME](1, 2))
  local n, hits = 0, 0
  for key in pairs(string) do n = n + 1 end
  for key in next, math do n = n + 1 end
  print(n, rawget(math, "m" .. "ax")(1, 2))
  ;("xipxtcp"):gsub("%a%a", function(w) if pkt[w] then hits = hits + 1 end end)
  pcall(string.gsub, "xip", "i%a", function(w) if pkt[w] then hits = hits + 1 end end)
  print(hits)
  local name = ("xipx"):sub(2, 3)
  local m = setmetatable({}, { __add = function(_, b) return pkt[b] ~= nil end, __lt = function(a, b) return pkt[b] ~= nil end })
  print(m + name, m < name)
  local o = { "i", "p" }
  o.mk = table.concat
  print(pkt[o:mk()] ~= nil)
  local lib = math
  local one = lib.abs(-1)
  local function call(l) return l["m" .. "in"](one, 2) end
  print(call(lib), (function() if #pkt == 0 then lib = nil end return lib["m" .. "ax"](1, 2) end)())
end)
