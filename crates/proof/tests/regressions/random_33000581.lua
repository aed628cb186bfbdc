-- Random program 33000581, made small: the packet's end was lost in a nested loop: a spill slot was cleared after the head had written it.
-- frames: hex:0000000000000000000000000000
local xdp = require "xdp"
local s4 = ""
xdp.attach(function(pkt)
  for i18 = 0, 1 do
    local c20 = 0
    repeat
      if (0 >= pkt:getint64(0)) then
        print(i18, c20)
      end
    until c20 >= 4 or ((s4:find("a", 1, true) or 0) ~= true)
  end
end)
