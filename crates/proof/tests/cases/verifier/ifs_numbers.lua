-- Forty independent conditions, of which each way may have added something.
-- frames: tcp udp arp hex:00000000000000000000000000000000
local xdp = require "xdp"
xdp.attach(function(pkt)
  local k, s = pkt:getuint16(12), 0
  if k & 2 ~= 0 then s = s + 48 end
  if k & 4 ~= 0 then s = s + 85 end
  if k & 8 ~= 0 then s = s + 122 end
  if k & 16 ~= 0 then s = s + 159 end
  if k & 32 ~= 0 then s = s + 196 end
  if k & 64 ~= 0 then s = s + 233 end
  if k & 128 ~= 0 then s = s + 270 end
  if k & 256 ~= 0 then s = s + 307 end
  if k & 512 ~= 0 then s = s + 344 end
  if k & 1024 ~= 0 then s = s + 381 end
  if k & 2048 ~= 0 then s = s + 418 end
  if k & 4096 ~= 0 then s = s + 455 end
  if k & 8192 ~= 0 then s = s + 492 end
  if k & 16384 ~= 0 then s = s + 529 end
  if k & 32768 ~= 0 then s = s + 566 end
  if k & 1 ~= 0 then s = s + 603 end
  if k & 2 ~= 0 then s = s + 640 end
  if k & 4 ~= 0 then s = s + 677 end
  if k & 8 ~= 0 then s = s + 714 end
  if k & 16 ~= 0 then s = s + 751 end
  if k & 32 ~= 0 then s = s + 788 end
  if k & 64 ~= 0 then s = s + 825 end
  if k & 128 ~= 0 then s = s + 862 end
  if k & 256 ~= 0 then s = s + 899 end
  if k & 512 ~= 0 then s = s + 936 end
  if k & 1024 ~= 0 then s = s + 973 end
  if k & 2048 ~= 0 then s = s + 1010 end
  if k & 4096 ~= 0 then s = s + 1047 end
  if k & 8192 ~= 0 then s = s + 1084 end
  if k & 16384 ~= 0 then s = s + 1121 end
  if k & 32768 ~= 0 then s = s + 1158 end
  if k & 1 ~= 0 then s = s + 1195 end
  if k & 2 ~= 0 then s = s + 1232 end
  if k & 4 ~= 0 then s = s + 1269 end
  if k & 8 ~= 0 then s = s + 1306 end
  if k & 16 ~= 0 then s = s + 1343 end
  if k & 32 ~= 0 then s = s + 1380 end
  if k & 64 ~= 0 then s = s + 1417 end
  if k & 128 ~= 0 then s = s + 1454 end
  if k & 256 ~= 0 then s = s + 1491 end
  print(s)
end)
