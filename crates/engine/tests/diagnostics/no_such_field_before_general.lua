local xdp = require "xdp"

xdp.attach(function(pkt)
  if pkt.tpc then return 1 end
  local all = {}
  for i = 1, #pkt do all[i] = { i } end
  return #all
end)
