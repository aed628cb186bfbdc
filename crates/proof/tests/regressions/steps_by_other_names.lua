-- `next` with a key, under other names than its own.
-- frames: tcp udp short arp
local xdp = require "xdp"
local hits, kept = {}, { next }
local cfg = { step = next }
local function with(f) return function(t, k) return f(t, k) end end
local stepped, read = with(next), with(rawget)
local function count(step)
  local n, key = 0, nil
  repeat
    key = step(hits, key)
    n = n + 1
  until key == nil or n > 50
  return n
end
xdp.attach(function(pkt)
  hits[#pkt] = 1
  hits[#pkt + 1] = 2
  cfg.step = cfg.step
  local given = pairs(hits)
  print(count(kept[1]), count(cfg.step), count(stepped), count(given), read(hits, #pkt))
end)
