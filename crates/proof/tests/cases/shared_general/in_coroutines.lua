-- Traversals of a shared table in coroutines that take turns.
-- frames: tcp
local xdp = require "xdp"
local action = require "linux.xdp"
local counts = map { capacity = 16 }

local function keys(from)
  return coroutine.wrap(function()
    for k, v in pairs(counts) do
      if v >= from then coroutine.yield(k, v) end
    end
  end)
end

local function sorted(list)
  table.sort(list)
  return table.concat(list, " ")
end

xdp.attach(function(pkt)
  for i = 1, 5 do counts["k" .. i] = i end
  local one, other = keys(1), keys(3)
  local first, second = {}, {}
  local k, v = one()
  while k do
    first[#first + 1] = k .. "=" .. v
    local name, value = nil, nil
    if #second < 3 then name, value = other() end
    if name then second[#second + 1] = name .. "=" .. value end
    -- A loop of its own in between.
    local sum = 0
    for _, n in pairs(counts) do sum = sum + n end
    if sum ~= 15 then print("sum", sum) end
    k, v = one()
  end
  print(sorted(first))
  print(sorted(second), other())
  return action.DROP
end)
