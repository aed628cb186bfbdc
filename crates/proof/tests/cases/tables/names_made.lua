-- Headers, fields and methods by names that are put together at packet time.
-- frames: udp tcp icmp tls udp6
local xdp = require "xdp"
local function get(object, name) return object[name] end
xdp.attach(function(pkt)
  for _, first in ipairs { "u", "tc" } do
    local header = get(pkt, first .. (first == "u" and "dp" or "p"))
    print(header and get(header, ("%sport"):format("d")), header and header["header" .. "_length" == "x" and "x" or "checksum"])
  end
  print(pkt[("get%s%d"):format("uint", 8)](pkt, 12), pcall(get, pkt, "nothing" .. #pkt))
  print(get("ab", ("REP"):lower())("ab", 2))
end)
