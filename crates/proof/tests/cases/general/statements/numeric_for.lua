-- Numeric for: bounds that are found at packet time, steps, ends of the integers, changes of the variable (manual § 3.3.5).
-- frames: hex:0305010000000000000000000000 hex:0301fe00000000000000000000000000 hex:0a01fd0000000000000000000000 hex:00ff000000000000000000000000
local xdp = require "xdp"
local function run(from, to, step, most)
  local all, count = {}, 0
  for i = from, to, step do
    count = count + 1
    if count > (most or 8) then all[#all + 1] = "..." break end
    all[#all + 1] = i
  end
  return table.concat(all, " ")
end
xdp.attach(function(pkt)
  local n = #pkt
  local from, to, step = pkt:getuint8(0), pkt:getuint8(1), pkt:getint8(2)
  for i = from, to do print(i) if i > 8 then break end end
  print(pcall(run, from, to, step))
  print(run(from, to, 1), run(to, from, -1), run(1, 0, 1), run(1, 1, 1), run(0, -3, -2))
  local max, min = math.maxinteger, math.mininteger
  print(run(max - 2, max, 1), run(max - 2, max, 2), run(min + 2, min, -1), run(min + 1, min, -2))
  print(run(1, max, max // 2), run(-1, min, min // 2), run(min, max, max), run(max, min, min))
  print(run(from, max, max), run(min, min, 1), run(max, max, -1), run(min, max, 1, 2))
  print(pcall(run, nil, 1, 1))
  print(pcall(run, 1, nil, 1))
  print(pcall(run, 1, 2, nil))
  print(pcall(run, 1, "2", 1))
  print(pcall(run, "x", 2, 1))
  print(pcall(run, 1, 2, "x"))
  print(pcall(run, 1, 2, {}))
  print(pcall(run, 1, 2, from - from))
  local functions = {}
  for i = from, from + 2 do functions[#functions + 1] = function(by) return i + (by or 10) end end
  print(functions[1](), functions[1](n), functions[2](), functions[3]())
  local sum = 0
  for i = 1, 4 do for j = i, 4 do if j == 3 then goto next end sum = sum + i * j ::next:: end end
  print(sum)
end)
