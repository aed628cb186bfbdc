-- Records that are tables as any other, in general code.
-- moonhook: general
-- frames: dns-answers*4 dns
local xdp = require "xdp"

local types = {}
xdp.attach(function(pkt)
  local dns = pkt.dns
  if not dns then return end
  local kept = {}
  for record in dns:answers() do
    kept[#kept + 1] = record
    record.note = "mine"
    types[record.type] = (types[record.type] or 0) + 1
  end
  for i = #kept, 1, -1 do print(i, kept[i].name, kept[i].note, types[kept[i].type], type(kept[i])) end
  print(pcall(dns.answers), pcall(dns.answers, pkt), pcall(dns.authorities, pkt.ip), pcall(dns.additionals, 7))
  print(type(dns.answers), pcall(function() return pkt.dns.records end))
  local names = {}
  for key in pairs(kept[1] or {}) do names[#names + 1] = key end
  table.sort(names)
  print(table.concat(names, " "))
  local next = dns:answers()
  for _ = 1, 8 do print(next() and "one" or "none") end
end)
