-- Lists as values: assigned whole, read and assigned by place, counted in, inferred and declared.
-- general: lists as values, in general code
-- frames: tcp udp icmp tls tcp6 udp6 arp syn*2 tcp udp
local xdp = require "xdp"
local sizes, loaded = {}, { web = { 80, 443 }, dns = { 53, nil, 853 } }
local declared = map { key = "ip", value = { "ip", "int", "string:40" }, capacity = 16 }
local lives = map { key = "int", value = { "int", "int" }, ttl = 1000, capacity = 256 }
local each = map { key = "int", value = { "int", "int" }, percpu = true, capacity = 16 }
local mixed, nested = {}, {}
xdp.attach(function(pkt)
  local length = #pkt
  local size = sizes[length]
  if size then
    size[1] = size[1] + 1
    size[2] = length
    size[3] = not size[3]
  else
    sizes[length] = { 1, 0 }
  end
  print(sizes[length][1], sizes[length][2], sizes[length][3], sizes[length][4], #sizes[length])

  local web, dns = loaded.web, loaded.dns
  print(web[1], web[2], web[3], #web, dns[1], dns[2], dns[3])
  web[2] = web[2] + 1
  dns[2] = length
  print(#dns)
  dns[2] = nil

  lives[length] = { length, 1 }
  lives[length][2] = lives[length][2] + 1
  print(lives[length][1], lives[length][2], #lives[length])
  each[1] = each[1] or { 0, 0 }
  each[1][1] = each[1][1] + 1

  mixed[length] = { length, true and 7, n = length, [4] = 5 }
  local m = mixed[length]
  print(m[1], m[2], m[3], m[4], m.n, m["1"], m[0], m[-1], m[1.0], m[true])
  nested[length] = { ports = { 1, 2 }, name = "x", deep = { list = { length } } }
  local n = nested[length]
  n.ports[1] = n.ports[1] + n.ports[2]
  n.deep.list[1] = n.deep.list[1] + 1
  n.ports = { n.ports[1], 9 }
  print(n.ports[1], n.ports[2], #n.ports, n.deep.list[1], n.name)

  local ip = pkt.ip
  if not ip then return end
  local d = declared[ip.src]
  if d then print(d[1], d[2], d[3]) else print(nil) end
  declared[ip.src] = { ip.dst, ip.proto, "to " .. ip.dst }
  local e = declared[ip.src]
  e[3] = nil
  print(e[1], e[2], e[3], #e, #e[1])
  if ip.proto == 17 then declared[ip.src] = {} end
  if ip.proto == 1 then declared[ip.src] = nil end
  print(declared[ip.src] and #declared[ip.src])
end)
