-- Random program 44000207, made small: the replacement of `gsub` was lost: a loop cleared a spill slot that its head had just written.
-- frames: hex:0000000000000000000000000000
local xdp = require "xdp"
local function join(list)
  local all = {}
  for i = 1, #list do all[i] = tostring(list[i]) end
end
xdp.attach(function(pkt)
  local n = #pkt
  print((""):gsub("", "a"))
  local grid40 = {}
  for row = 1, 3 do
    grid40[row] = {}
    for column = 1, 3 do
      grid40[row][column] = (n // (column | 1))
    end
  end
  print(join(grid40[1 + 0]))
end)
