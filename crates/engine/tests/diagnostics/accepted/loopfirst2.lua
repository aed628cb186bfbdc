local xdp = require "xdp"
xdp.attach(function(pkt)
  local last, n = nil, 0
  while n < 5 do
    if n ~= 0 then n = n + last else n = n + 1 end
    last = pkt:getbyte(n)
    if last == 0 then return 1 end
  end
end)
