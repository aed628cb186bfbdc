-- Random program 3000131, made small: MH0219 the group is not known before packets arrive.
-- frames: hex:0000000000000000000000000000
local xdp, tc = require "xdp", require "tc"
xdp.attach(function(pkt)
  if pkt.queue and pkt.mark then pkt.queue = (pkt.eth and not pkt.mark and redirect({ group = #pkt % 2 == 0 and { "eth0", "eth1" } or { 7 } }) or 0) end
  local v28, v29, v30 = 0
  local held31 do local k = 0 held31 = "t" .. k end
  local function turn32(k)
    if k & 1 == 0 then held31 = "ab"
    else held31 = function() return k end end
  end
  print(#pkt, type(held31), type(held24))
end)
