-- A table passed to a function that fills it.
-- frames: tcp udp icmp arp hex:0001020304050607080910111213 eth:the\sreport\sof\sMonday\sthe\sreport\sof\sthe\sreport\sa\sverylongwordindeed\sverylongwordindeed\sverylongwordindeee eth:a,b,,c,a,a,b eth:aaaaaaaa\sbbbbbbbbb\saaaaaaaa\sbbbbbbbbb\saaaaaaa
local xdp = require "xdp"
local action = require "linux.xdp"

xdp.attach(function(pkt)
  local text = pkt:getstring(14)
  local function set(of, key) of[key] = true return of end
  local seen = {}
  for word in text:gmatch("%a+") do set(seen, word) end
  if seen.Monday then print("Monday") return action.DROP end
  return action.PASS
end)
