-- The longest keys in general code: what replaces an entry that is held has the most on the stack.
-- frames: tcp udp tcp
local xdp = require "xdp"
local records = map { key = "string:260", value = { n = "int", s = "string:8", sub = { x = "int" } }, capacity = 8 }
local longest = ("y"):rep(260)
local function depth(n) if n <= 0 then return 0 end return 1 + depth(n - 1) end
xdp.attach(function(pkt)
  local k = longest:sub(1, 258 + depth(2))
  if not records[k] then records[k] = { n = 0, s = "new", sub = { x = 1 } } end
  local r, sub = records[k], records[k].sub
  r.n = r.n + 1
  records[k] = { n = r.n * 2, s = "next", sub = { x = sub.x + 1 } }
  print(r.n, r.s, sub.x, records[k].n, records[k].s, records[k].sub.x, pcall(function() records[k .. "z"] = r end))
  for name, entry in pairs(records) do print(#name, entry.n, entry.sub.x) end
end)
