-- What was copied of an entry when it was looked up is what the entry has, whatever the handler then assigns: fields, inner records,
-- whole entries, entries under another key, and the same entry of a table of prefixes by another address.
-- frames: tcp udp icmp tcp udp6 all
local xdp = require "xdp"
local flows = map { key = "int", value = { n = "int", name = "string:20", src = "ip", mac = "mac", on = "boolean",
  inner = { a = "int", deep = { b = "int", text = "string:8" } } }, capacity = 64 }
local nets = map { key = "ipv4", lpm = true, value = { n = "int", name = "string:8" } }
nets["192.0.2.0/24"] = { n = 1, name = "doc" }
nets["10.0.0.0/8"] = { n = 2 }
local texts = map { key = "int", value = "string:30" }
local addresses = map { key = "int", value = "ip" }

local function show(r)
  print(r.n, r.name, r.src, r.mac, r.on, r.inner and r.inner.a, r.inner and r.inner.deep and r.inner.deep.b,
    r.inner and r.inner.deep and r.inner.deep.text)
end

local turn = 0
xdp.attach(function(pkt)
  turn = turn + 1
  local k = turn & 3
  local r = flows[k]
  if not r then
    r = { n = turn, name = "flow " .. turn, mac = pkt.eth.src, on = turn % 2 == 0, inner = { a = turn } }
    flows[k] = r
  end
  show(r)
  r.n = r.n + 10
  print(r.n, flows[k].n, flows[k] == r)
  r.name, r.on, r.src = "a longer name " .. k, not r.on, pkt.ip and pkt.ip.src
  show(flows[k])
  local inner = r.inner
  inner.a = inner.a + 1
  inner.deep = { b = turn, text = "deep" }
  show(r)
  local deep = inner.deep
  deep.b, deep.text = deep.b * 2, nil
  print(deep.b, deep.text, flows[k].inner.deep.b)
  r.inner = { a = 7 }
  show(r)
  r.inner = nil
  show(flows[k])
  local sum, names = 0, 0
  for key, other in pairs(flows) do
    other.n = other.n + key
    other.name = nil
    sum = sum + (key + 1) * (other.n + flows[key].n)
    if other.name or flows[key].name then names = names + 1 end
  end
  print(sum, names)
  show(r)
  flows[k] = { n = r.n, name = "new" }
  show(flows[k])
  flows[k + 4] = flows[k + 4] or { n = 1 }
  flows[k + 4] = nil

  local one, two = nets["192.0.2.1"], nets["192.0.2.2"]
  print(one.n, one.name, two.n, two.name, nets["10.1.2.3"].n)
  one.n = one.n + 1
  two.n = two.n + 1
  one.name = "n" .. turn
  print(one.n, one.name, two.n, two.name, nets["192.0.2.3"].n)

  texts[k] = (texts[k] or "") .. "x" .. turn
  addresses[k] = pkt.ip and pkt.ip.dst or "192.0.2.1"
  print(texts[k], addresses[k], texts[k] == texts[k], texts[9], addresses[9])
end)
