local xdp = require "xdp"
xdp.attach(function(pkt)
  local acc
  local function add(n) if acc then acc = acc + n else acc = n end end
  for i = 1, 10 do add(pkt:getbyte(i)) end
  if acc > 100 then return 1 end
end)
