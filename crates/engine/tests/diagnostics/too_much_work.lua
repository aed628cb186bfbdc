local xdp = require "xdp"
local a, b, c, d, e, f = 1, 2, 3, 4, 5, 6
xdp.attach(function(pkt)
  for i = 1, #pkt - 1 do
    for j = i, #pkt - 1 do
      a, b, c, d, e, f = b, c, d, e, f, a + pkt:getbyte(i)
      if a > b then c = d elseif b > c then d = e else e = f + pkt:getbyte(j) end
    end
  end
  print(a, b, c, d, e, f)
end)
