-- `while`, `repeat` (whose condition sees the body's locals), `break`, nested.
-- frames: tcp udp hex:07050301000000000000000000000000
local xdp = require "xdp"
xdp.attach(function(pkt)
  local n = pkt:getuint8(0)
  local steps = 0
  while n ~= 1 and steps < 200 do
    if n % 2 == 0 then n = n // 2 else n = 3 * n + 1 end
    steps = steps + 1
  end
  print(n, steps)
  local i = 0
  repeat
    local byte = pkt:getuint8(i)
    i = i + 1
  until byte > 3 or i == #pkt
  print(i)
  local total = 0
  for a = 0, 5 do
    for b = 0, 5 do
      if pkt:getuint8(b) < a then break end
      if a == b then goto continue end
      total = total * 3 + pkt:getuint8(a) + b
      ::continue::
    end
    if total > 100000 then break end
  end
  print(total)
  repeat total = total - 7 until total < 0
  print(total)
  while true do
    total = total + 3
    if total > 10 then break end
  end
  return total % 3
end)
