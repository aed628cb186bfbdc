-- Random program 8, made small: output.
-- frames: hex:05120c8082bcd12d5580ef3f7dac22fd635314a988b23498ff893a0f1e9abdb7a7bc19540d9df4f1c2044341e161c6ce0b98966ecce7a40d1ba8c477127be0c36958468ae3c4543b4f9ead060af75c81fffa269d968af8a951d70ce9ed0d281771d7d9f2355d7d78108bbe775fcc3462a565a5c70857cdcb69a9aa44779360bf17e05d9942f09c602d7f7e8bf726d922ef861fe344816ed3a884bb3212028c
local xdp = require "xdp"
local u0 = (1)
local u1 = (3)
xdp.attach(function(pkt)
  local n = #pkt
  local c4 = 0
  while c4 < 7 and (pkt:getuint16(pkt:getuint8(((math.maxinteger) - u0) % (n - 0)) % (n - 1)) > pkt:getint16(8)) do
    c4 = c4 + 1
    print(math.max(((0xffff) | c4), u1), "x" .. (((u0 ~= u0) and (c4 > u1)) and (256) or c4))
  end
end)
