-- Blocks and scopes: shadowing, repeat's condition sees the body's variables, functions see their own (manual § 3.5).
-- frames: hex:0305010000000000000000000000 hex:0001000000000000000000000000
local xdp = require "xdp"
local x = 10
local function outer() return x end
xdp.attach(function(pkt)
  local n = pkt:getuint8(0)
  print(x, outer())
  local x = x + n
  print(x, outer())
  do
    local x = x + 1
    do local x = x .. "!" print(x) end
    print(x)
  end
  local i = 0
  repeat
    local done = i >= n
    i = i + 1
  until done
  print(i)
  local f
  repeat local last = i f = function() return last end i = i + 1 until last >= n
  print(f(), i)
  while true do local x = "in while" if x then break end end
  if n > 2 then local x = "then" print(x) elseif n > 0 then print(x) else local x = "else" print(x) end
  local function fact(k) if k <= 1 then return 1 end return k * fact(k - 1) end
  local recursive = fact
  fact = nil
  print(pcall(recursive, n))
  local g = function(k) return g end
  print(g(1))
  print(x)
end)
