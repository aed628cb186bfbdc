-- The same without `pcall`: where packets go by a table, of the code, of load time, one of several.
-- frames: udp tcp arp udp6 icmp arp/15 tcp/60 tls
local xdp, action = require "xdp", require "linux.xdp"

local groups = { lan = { "eth1", "eth2" }, guests = { "wlan0", 7 } }
local fixed = { cpu = 1, queue = 512 }
local length = 64

local function to(group)
  return { group = group }
end

xdp.attach(function(pkt)
  print(redirect { cpu = #pkt % 4 }, redirect { cpu = 0, queue = length }, redirect(fixed))
  print(redirect { group = { "eth1", "eth2", 3 } }, redirect(to(groups.lan)), redirect { group = { "eth2", "eth1" } })
  local ip = pkt.ip
  if not ip then
    if #pkt == 15 then redirect { group = {} } end
    return redirect { group = groups.guests }
  end
  if pkt.icmp then redirect { cpu = ip.ttl + 70000 } end
  if #pkt == 60 then redirect { cpu = 1, group = groups.lan } end
  return redirect { group = pkt.udp and groups.lan or groups.guests }
end)
