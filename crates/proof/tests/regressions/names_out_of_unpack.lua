-- Names of fields that `string.unpack` takes out of load-time data; and that a list of `table.pack` keeps.
-- frames: tcp udp arp
local xdp = require "xdp"
local blob = "udp\0tcp\0"
xdp.attach(function(pkt)
  local name = string.unpack("z", blob, #pkt % 2 * 4 + 1)
  local header = pkt[name]
  print(name, header and header.sport)
  local made = table.pack(string.char(117, 100, 112), 2)
  for _, value in ipairs(made) do
    if type(value) == "string" then print(value, pkt[value] and pkt[value].dport) end
  end
end)
