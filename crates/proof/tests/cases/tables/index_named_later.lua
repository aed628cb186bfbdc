-- `__index` by a name that is put together at packet time: what is behind it is found by names that are put together, too.
-- frames: udp tcp
local xdp = require "xdp"
xdp.attach(function(pkt)
  local d = #pkt > 0 and "dex" or "x"
  local headers = setmetatable({}, { ["__in" .. d] = pkt })
  print(headers["ud" .. (d == "dex" and "p" or "q")] ~= nil)
  local texts, meta = {}, {}
  meta["__in" .. d] = string
  setmetatable(texts, meta)
  print(texts["re" .. (d == "dex" and "p" or "q")] == string.rep)
end)
