-- Forty independent conditions, of which each way may have appended something.
-- frames: tcp udp arp hex:00000000000000000000000000000000
local xdp = require "xdp"
xdp.attach(function(pkt)
  local k, s = pkt:getuint16(12), ""
  if k & 2 ~= 0 then s = s .. "x1" end
  if k & 4 ~= 0 then s = s .. "x2" end
  if k & 8 ~= 0 then s = s .. "x3" end
  if k & 16 ~= 0 then s = s .. "x4" end
  if k & 32 ~= 0 then s = s .. "x5" end
  if k & 64 ~= 0 then s = s .. "x6" end
  if k & 128 ~= 0 then s = s .. "x7" end
  if k & 256 ~= 0 then s = s .. "x8" end
  if k & 512 ~= 0 then s = s .. "x9" end
  if k & 1024 ~= 0 then s = s .. "x10" end
  if k & 2048 ~= 0 then s = s .. "x11" end
  if k & 4096 ~= 0 then s = s .. "x12" end
  if k & 8192 ~= 0 then s = s .. "x13" end
  if k & 16384 ~= 0 then s = s .. "x14" end
  if k & 32768 ~= 0 then s = s .. "x15" end
  if k & 1 ~= 0 then s = s .. "x16" end
  if k & 2 ~= 0 then s = s .. "x17" end
  if k & 4 ~= 0 then s = s .. "x18" end
  if k & 8 ~= 0 then s = s .. "x19" end
  if k & 16 ~= 0 then s = s .. "x20" end
  if k & 32 ~= 0 then s = s .. "x21" end
  if k & 64 ~= 0 then s = s .. "x22" end
  if k & 128 ~= 0 then s = s .. "x23" end
  if k & 256 ~= 0 then s = s .. "x24" end
  if k & 512 ~= 0 then s = s .. "x25" end
  if k & 1024 ~= 0 then s = s .. "x26" end
  if k & 2048 ~= 0 then s = s .. "x27" end
  if k & 4096 ~= 0 then s = s .. "x28" end
  if k & 8192 ~= 0 then s = s .. "x29" end
  if k & 16384 ~= 0 then s = s .. "x30" end
  if k & 32768 ~= 0 then s = s .. "x31" end
  if k & 1 ~= 0 then s = s .. "x32" end
  if k & 2 ~= 0 then s = s .. "x33" end
  if k & 4 ~= 0 then s = s .. "x34" end
  if k & 8 ~= 0 then s = s .. "x35" end
  if k & 16 ~= 0 then s = s .. "x36" end
  if k & 32 ~= 0 then s = s .. "x37" end
  if k & 64 ~= 0 then s = s .. "x38" end
  if k & 128 ~= 0 then s = s .. "x39" end
  if k & 256 ~= 0 then s = s .. "x40" end
  print(s)
end)
