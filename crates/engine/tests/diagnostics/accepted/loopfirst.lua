local xdp = require "xdp"
xdp.attach(function(pkt)
  local last
  local sum = 0
  for i = 1, #pkt // 64 do
    if i > 1 then sum = sum + last end
    last = i
  end
  if sum > 10 then return 1 end
end)
