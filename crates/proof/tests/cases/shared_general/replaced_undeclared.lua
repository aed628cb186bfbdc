-- Tables that are not declared: an entry that is held while another function replaces or deletes it.
-- frames: all tcp udp tcp
local xdp = require "xdp"
local flows, turns = {}, 0
local function renew(k, n)
  local old = flows[k]
  flows[k] = { pkts = n, last = { len = n * 2 } }
  return old
end
local function drop(k) flows[k] = nil end
local function depth(n) if n <= 0 then return 0 end return 1 + depth(n - 1) end
xdp.attach(function(pkt)
  turns = turns + 1
  local k = "k" .. depth(turns % 3)
  local first = flows[k] or renew(k, 1) or flows[k]
  first.pkts = first.pkts + 1
  local last = first.last
  local second = renew(k, turns * 10)
  print(first.pkts, first == second, last.len, last == second.last, flows[k].pkts, first == flows[k])
  first.pkts = first.pkts + 1
  local held = flows[k]
  held.pkts = held.pkts + 5
  drop(k)
  print(first.pkts, held.pkts, held.last.len, flows[k])
  if turns % 2 == 0 then flows[k] = held end
  for key, r in pairs(flows) do
    local was = r.pkts
    flows[key] = { pkts = was + 1, last = r.last and { len = r.last.len } }
    if key == k then print(r.pkts, r.last.len, flows[key].pkts, flows[key].last.len) end
  end
end)
