-- A variable from outside of a loop is captured by whichever function the turn that leaves the loop makes; in loops of known turns
-- too, which are unrolled, and beside variables that each turn has for itself.
-- frames: udp tcp icmp arp
local xdp = require "xdp"

xdp.attach(function(pkt)
  local n, f = #pkt, nil
  for i = 1, 4 do
    local own = i * 10
    if pkt:getbyte(i) & 1 == 0 then
      f = function(x) n = n + x return own end
      break
    elseif pkt:getbyte(i) & 2 == 0 then
      f = function(x) n = n * x own = own + 1 return own end
    end
  end
  print(f and f(3), f and f(4), n)

  local all, sum = {}, 100
  for i = 1, 3 do
    local own = i
    if pkt.udp then
      all[i] = function(x) own = own + x sum = sum + own return own end
    else
      all[i] = function(x) own = own * x sum = sum - own return own end
    end
  end
  for i = 1, 3 do print(all[i](5), all[i](7), sum) end
end)

-- Another handler of the same shape has other variables.
xdp.attach(function(pkt)
  local n, f = 7, nil
  for i = 1, 4 do
    local own = i
    if pkt:getbyte(i) & 1 == 1 then
      f = function(x) n = n - x return own end
    end
  end
  print(f and f(3), n)
end)
