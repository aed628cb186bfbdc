-- Methods of strings by names that are data: which one it is, is known at packet time only.
-- frames: hex:0000000000000000000000000000 hex:0500000000000000000000000000
local xdp = require "xdp"
local rules = { "lower", "len", "upper" }
xdp.attach(function(pkt)
  local s = "Aa"
  for _, name in ipairs(rules) do
    s = ("")[name](tostring(s))
  end
  print(s)
  for i = 1, #pkt do
    local name = rules[pkt:getbyte(i - 1) + 1]
    if name then print(("aB")[name]("cD")) end
  end
  local name = pkt:getbyte(0) > 1 and "lower" or "len"
  print(("x")[name]("GH"), ("x")[pkt:getbyte(0)])
end)
