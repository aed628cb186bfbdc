-- Places of lists that the packet tells, and loops over lists.
-- general: lists as values, in general code
-- frames: tcp udp icmp tls tcp6 udp6 arp syn*2 tcp udp
local xdp = require "xdp"
local hits = { [1] = { 0, 0, 0, 0 } }
local rows = map { key = "int", value = { { "string:8", "string:8" }, "int" }, capacity = 16 }
xdp.attach(function(pkt)
  hits[2] = { #pkt }
  hits[#pkt + 100] = nil
  local list = hits[1]
  local place = #pkt % 4 + 1
  list[place] = list[place] + 1
  print(list[place], list[place + 4], list[#pkt % 3], hits[1][place])
  local sum = 0
  for i = 1, #list do sum = sum + i * list[i] end
  print(sum)
  for i, n in ipairs(list) do sum = sum + i * n end
  print(sum)
  for i = 1, 4 do list[i] = list[i] + i end
  print(list[1], list[2], list[3], list[4])

  local key = #pkt % 2
  if not rows[key] then rows[key] = { { "a", "b" }, 1 } end
  local row = rows[key]
  row[1][#pkt % 2 + 1] = "n" .. place
  row[2] = row[2] + 1
  for i, text in ipairs(row[1]) do print(i, text) end
  row[1][place] = nil
  print(row[1][1], row[1][2], row[2])
  row[1] = { "c", "d" }

  local best, at = -1, nil
  for k, v in pairs(rows) do
    if v[2] > best or v[2] == best and k < at then best, at = v[2], k end
  end
  print(best, at, next(rows) ~= nil)
  list[place] = place > 1 and 1 or nil
  print(list[1] == nil, #list == 4 or list[1] == nil)
  list[1] = 5
end)
