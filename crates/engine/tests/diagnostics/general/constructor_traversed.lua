-- So has one that packet code finds when it goes through what it is in.
local all, steps = {}, {}
function steps.keep(n) all[#all + 1] = setmetatable({ n = n }, {}) end
steps.keep(50)
local function run(list, pkt)
  for _, step in pairs(list) do step(#pkt) end
end
require("xdp").attach(function(pkt)
  run(steps, pkt)
end)
