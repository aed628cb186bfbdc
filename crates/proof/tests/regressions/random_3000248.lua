-- Random program 3000248, made small: general code: error "the target is not known before packets arrive" where real Lua has "none".
-- frames: hex:0000000000000000000000000000
local xdp, tc = require "xdp", require "tc"
xdp.attach(function(pkt)
  if pkt.eth and (0 == (pkt.eth and not pkt.mark and redirect({ cpu = 3, queue = 512 }) or 0)) then local verdict = redirect("") return verdict end
  local c18 = 0
  local held24 do local k = 0 held24 = { v = "in", k } end
  local function turn25(k)
    if k & 1 == 0 then held24 = function() return k end
    else held24 = "ab" end
  end
  print(#pkt, type(held31), type(held24))
end)
