-- Globals of load time that packets change; declarations of Lua 5.5 (manual § 2.2, § 3.3.7).
-- frames: hex:0305010000000000000000000000*2 hex:0001000000000000000000000000
local xdp = require "xdp"
count = 0
seen = false
function add(n) count = count + n return count end
global *
global total = 5
global function twice(x) return x * 2 end
xdp.attach(function(pkt)
  local n = pkt:getuint8(0)
  print(count, seen, total, add(n), twice(n), _G.count, _ENV.total, rawget(_G, "count"))
  seen = n > 0
  total = total + twice(n)
  print(undefined, _G.undefined, type(undefined), seen, total)
  do
    global <const> print, count
    print(count)
    do global *  total = total + 1 end
  end
  do
    global print, total
    total = -total
    print(total)
    total = -total
  end
  print(pcall(function() return undefined.x end))
  print(pcall(function() undefined() end))
  print(pcall(function() return undefined + n end))
end)
