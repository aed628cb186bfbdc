-- Tables whose values are of several types: inferred from load time and from assignments, declared, in records, with lifetimes.
-- frames: udp tcp udp udp6 tcp arp udp icmp
local xdp = require "xdp"
local flags = {}
local settings = { mode = "drop", limit = 100, on = true, rate = 0.5, off = false }
local any = map { key = "int", value = "any", capacity = 100 }
local few = map { key = "int", value = "boolean|int", capacity = 100, ttl = 3600 }
local records = map { key = "int", value = { v = "int|string:8", n = "int" }, capacity = 100 }
xdp.attach(function(pkt)
  local k = #pkt % 3
  local old = flags[k]
  if old == nil then flags[k] = true
  elseif old == true then flags[k] = #pkt
  elseif flags[k] == #pkt then flags[k] = "many " .. k
  elseif type(old) == "string" then flags[k] = #pkt / 4
  else flags[k] = nil end
  print(old, flags[k], type(old), old == flags[k], not old, math.type(flags[k]), old and 1 or 2)
  print(settings.mode, settings.limit + 1, settings.on, settings.rate, settings.off, settings.none)
  local name = pkt.tcp and "limit" or pkt.udp and "mode" or "rate"
  local v = settings[name]
  print(v, v == 100, v == "drop", v == 0.5)
  if v == "drop" then settings[name] = "pass" elseif v == 100 then settings[name] = v + 1 else settings[name] = v end
  any[1] = any[2]
  any[2] = pkt.ip and pkt.ip.src or #pkt
  any[3] = any[2] == any[1]
  any[4] = v
  any[5] = pkt:getstring(0, 6)
  any[6] = nil
  print(any[1], any[2], any[3], any[4], #any[5], any[6])
  few[k] = few[k] == nil and 0 or few[k] == 0 or (few[k] == true and 7)
  print(few[k], few[k] and "yes" or "no")
  local r = records[k]
  if r then
    print(r.v, r.n, r.v == k)
    r.v = r.n == 1 and "s" .. k or k
    r.n = r.n + 1
  else
    records[k] = { v = k, n = 1 }
  end
  print(records[k].v, records[k].n)
  local counts = { 0, 0, 0, 0 }
  for _, value in pairs(settings) do
    if value == true or value == false then counts[1] = counts[1] + 1
    elseif math.type(value) == "integer" then counts[2] = counts[2] + 1
    elseif math.type(value) == "float" then counts[3] = counts[3] + 1
    else counts[4] = counts[4] + 1 end
  end
  print(counts[1], counts[2], counts[3], counts[4])
end)
