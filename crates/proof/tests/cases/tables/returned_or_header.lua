-- What functions return, or variables of functions have, is a table or a header of the packet, by the frame: both are indexed by names that are
-- made at packet time.
-- frames: udp tcp udp6 tcp6 arp
local xdp = require "xdp"

local function chosen(pkt)
  local made = { sport = "made", dport = 7 }
  if pkt.udp then return pkt.udp, made end
  return made, pkt.tcp
end

xdp.attach(function(pkt)
  local first, second = chosen(pkt)
  local later = {}
  local function read(name) return later and later[name] end
  for part in ("s d"):gmatch("%a") do
    local name = part .. "port"
    print(name, first[name], second and second[name], read(name))
    later = pkt.udp or pkt.tcp
  end
  local mine = { checksum = 1 }
  local function set() mine = pkt.ip end
  if pkt.ip then set() end
  print(mine["check" .. "sum"], pcall(function() return mine["vers" .. "ion"] end))
end)
