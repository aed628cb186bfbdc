-- What is done with records: kept, compared, counted, left, taken by hand, and packets that change meanwhile.
-- frames: dns-answers*12 dns6 dns udp dns-answers
local xdp = require "xdp"

local addresses = { ["192.0.2.80"] = "known", ["2001:db8::50"] = "known, too" }
local turn, all = 0, 0
local seen = map { key = "string:64", value = "int", capacity = 64 }
xdp.attach(function(pkt)
  turn = turn + 1
  local dns = pkt.dns
  if not dns then return end
  for record in dns:answers() do
    if record.address and addresses[record.address] then print(addresses[record.address], record.ttl) end
    all = all + record.type
    if record.name then seen[record.name] = (seen[record.name] or 0) + 1 end
  end
  print(all, seen["web.example.org"], seen["."])
  for record in dns:answers() do
    if record.type == 28 then print("first of its type", record.name) break end
  end
  local next = dns:authorities()
  local first = next()
  local second = next()
  print(first and first.name, first and first.target, second and second.name)
  if turn % 3 == 0 then
    for record in dns:answers() do
      if record.type == 1 then pkt:setuint8(#pkt - 1, 7) end
      print(record.name, record.ttl, record.data, #record.data)
    end
  end
  if turn % 3 == 1 then
    for record in dns:answers() do
      pkt.udp.sport, pkt.udp.dport = 7, 8
      print(record.name, pkt.dns)
    end
    for record in dns:additionals() do print("not any more", record.name) end
  end
end)
