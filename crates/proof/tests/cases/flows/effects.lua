-- What a handler has read before it calls a flow table is what it was; what it reads afterwards is what the flow's function has made of it: the
-- packet, tables, entries, strings, sums. Keys end at their first nil.
-- frames: udp tcp arp icmp udp6 tcp6 udp*3 dns tls vlan-tcp udp-options fragment
local xdp = require "xdp"
local flow = require "flow"

local seen = map{key = "int", value = "int", capacity = 1000}
local records = map{key = "int", value = {n = "int", m = "int"}, capacity = 1000}

local flows = flow.new{capacity = 100, key = function(pkt)
  local ip = pkt.ip
  if not ip then return nil end
  if pkt.udp then return ip.proto, nil, #pkt end
  return ip.proto, pkt.tcp and pkt.tcp.dport, nil, 5
end}

local function change(pkt)
  local text = "changed " .. #pkt .. " by " .. pkt.ip.src
  seen[7] = (seen[7] or 0) + 1
  seen[8] = nil
  seen[9] = 50
  records[1] = {n = (records[1] and records[1].n or 0) + 10, m = #text}
  if records[2] then records[2].n = records[2].n + 100 end
  print(text)
  local done = pcall(function()
    pkt.ip.ttl = 7
    pkt:setbyte(#pkt - 1, 65)
  end)
  print(done)
end

flows:set({17}, change)
for _, port in ipairs{80, 443, 53, 1234} do flows:set({6, port}, change) end
flows:set({1}, change)

xdp.attach(function(pkt)
  seen[8] = 3
  seen[9] = 1
  records[2] = {n = 1, m = 2}
  local record = records[2]
  local missing, known, sum = seen[7], seen[8], seen[9]
  local ip = pkt.ip
  local ttl, text = ip and ip.ttl, pkt.payload
  local made = "made of " .. #pkt .. (ttl or "nothing")
  local before = record.n
  local verdict = flows(pkt)
  print(made, text, missing, known, ttl, before)
  print(seen[7], seen[8], record.n, record.m, records[1] and records[1].n, pkt.ip and pkt.ip.ttl, pkt.payload)
  seen[7] = (missing or 0) + 1000
  seen[9] = sum + 2
  print(seen[7], seen[9])
  if not seen[8] then seen[8] = 6 end
  records[2].m = records[2].n + 1
  print(seen[8], record.m)
  return verdict
end)
xdp.attach(function(pkt)
  print("next", seen[7], seen[8], seen[9], pkt.ip and pkt.ip.ttl)
end)
