-- Tables whose values are of several types in general code, with types that follow from the bytecode.
-- frames: udp tcp udp arp tcp6 udp
local xdp = require "xdp"
local state, cache = {}, {}
local declared = map { key = "string:16", value = { v = "any", n = "int" }, capacity = 100, ttl = 3600 }
local function depth(n) if n == 0 then return 0 end return 1 + depth(n - 1) end
local values = { true, 5, 2.5, "text", false }
local function pick(n) return values[depth(n) % 5 + 1] end
xdp.attach(function(pkt)
  local k = #pkt % 5
  local before = state[k]
  if before == nil then state[k] = false
  elseif before == false then state[k] = #pkt
  elseif math.type(before) == "integer" then state[k] = before / 2
  elseif math.type(before) == "float" then state[k] = "was " .. tostring(before)
  else state[k] = nil end
  print(before, state[k], before == state[k], type(state[k]), not state[k])
  cache["k" .. k] = pick(#pkt)
  print(cache["k" .. k], cache["k" .. k] == pick(#pkt))
  declared["k" .. k] = { v = pick(#pkt + 1), n = k }
  local r = declared["k" .. k]
  print(r.v, r.n)
  r.v = pick(#pkt + 2)
  print(r.v, declared["k" .. k].v)
  r.v = nil
  print(r.v)
  local n = 0
  for key, value in pairs(cache) do if value == pick(#pkt) then n = n + 1 end end
  print(n > 0)
end)
