-- Names and values that are found out at packet time: which header, which field, addresses out of strings.
-- frames: udp tcp udp6 tcp6 icmp
local xdp = require "xdp"

local plan = {
  { "ip", "ttl", 7 }, { "ip", "tos", 4 }, { "udp", "dport", 99 }, { "tcp", "window", 12 }, { "icmp", "seq", 77 },
  { "ip", "nothing", 1 }, { "tcp", "syn", true }, { "udp", 5, 5 },
}

local function octet(pkt, n) return tostring(pkt:getbyte(n)) end

xdp.attach(function(pkt)
  for _, step in ipairs(plan) do
    local header = pkt[step[1]]
    if header then
      local ok, message = pcall(function() header[step[2]] = step[3] end)
      print(step[1], step[2], ok, message or header[step[2]])
    end
  end
  if pkt.ip.version == 4 then
    local text = table.concat({ "10", octet(pkt, 3), octet(pkt, 4), "7" }, ".")
    pkt.ip.src = text
    print(pkt.ip.src == text, pcall(function() pkt.ip.src = text .. "." end))
  end
  local mac = ("%02x:%02x:%02x:00:00:01"):format(2, #pkt & 255, 9)
  pkt.eth.dst = mac
  print(pkt.eth.dst)
end)
