-- type, tostring, rawequal, rawlen, rawget, rawset (manual § 6.2).
-- frames: hex:0305010000000000000000000000 hex:ff01000000000000000000000000
local xdp = require "xdp"
local function first(ok, e) return e end
xdp.attach(function(pkt)
  local n, flag = pkt:getint8(0), pkt:getint8(0) > 0
  local values = { n, "text", flag, {}, print, function() end, pkt }
  for i = 1, #values do print(i, type(values[i])) end
  print(type(nil), type(type), type(pkt.eth), pcall(type))
  print(tostring(n), tostring(-n), tostring(flag), tostring(nil), tostring("s"), tostring(math.mininteger), tostring(1 << n % 70))
  print(pcall(tostring))
  local t = setmetatable({ n, 2, x = 1 }, { __len = function() return 100 end, __eq = function() return true end, __index = print })
  local u = setmetatable({}, getmetatable(t))
  print(t == u, rawequal(t, u), rawequal(t, t), rawequal(n, n), rawequal("a" .. n, "a" .. n), rawequal(1, "1"))
  print(#t, rawlen(t), rawlen("abc" .. n), rawget(t, 1), rawget(t, "y"), rawget(t, "x"))
  print(rawset(t, "z", n) == t, t.z, rawset(t, "z", nil) == t, rawget(t, "z"))
  print(first(pcall(rawlen, n)), first(pcall(rawget, n, 1)), first(pcall(rawset, t)))
  print(first(pcall(rawset, t, nil, 1)), first(pcall(rawequal, 1)), first(pcall(rawget, t)))
  print(first(pcall(rawlen)), first(pcall(rawset, "x", 1, 1)))
end)
