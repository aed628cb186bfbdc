-- What is made in one turn of a loop and used in another, or by an index that counts turns.
-- frames: tcp udp icmp arp hex:0001020304050607080910111213 hex:0504030201000000000000000000 hex:ff00ff00ff00ff00ff00ff00ff00
local xdp = require "xdp"

local weights = { 3, 1, 4, 1, 5 }
local names = { "a", "b", "c" }

xdp.attach(function(pkt)
  local list = {}
  for i = 1, 4 do list[i] = pkt:getuint8(i) end
  for i = 1, 4 do table.insert(list, i) end
  table.insert(list, 1, #pkt)
  local sum = 0
  for i, v in ipairs(list) do sum = sum + v * i end
  print(sum, #list, table.unpack(list, 3, 6))
  print(table.remove(list), table.remove(list, 1), #list, table.concat(list, ",", 5))

  local counters = {}
  for i = 1, 3 do
    local total = i
    counters[i] = function(by) total = total + by return total end
  end
  print(counters[1](1), counters[1](1), counters[2](#pkt), counters[3](100))

  local previous
  local function keep(x) return function() return x end end
  for i = 1, 3 do
    local f = keep(i)
    if previous then print(previous()) end
    previous = f
  end

  local head
  for i = 1, 3 do head = { next = head, value = i + #pkt } end
  print(head.value, head.next.value, head.next.next.value, head.next.next.next)

  local latest
  for i = 1, pkt:getuint8(0) % 5 do
    local node = { twice = i }
    node.twice = node.twice * 2
    if node.twice > 2 then latest = node.twice end
  end
  print(latest)

  for i, weight in ipairs(weights) do sum = sum + weight * i end
  for i, name in ipairs(names) do
    if i == pkt:getuint8(0) % 3 + 1 then print(i, name) end
  end
  print(sum)
end)
