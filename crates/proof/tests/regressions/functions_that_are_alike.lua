-- Each execution of `function` makes another one (Lua manual § 3.4.11), though the code and the variables are the same.
-- frames: tcp short
local xdp = require "xdp"
local all = {}
for i = 1, 3 do all[i] = function() return 1 end end
local first = all[1]
local names = { [all[2]] = "second" }
local function make() return function() return 2 end end
local made = make()
xdp.attach(function(pkt)
  print(all[1] == all[2], all[1] == first, rawequal(all[3], first))
  print(names[all[1]], names[all[2]], names[all[3]])
  local one = make()
  local same = one
  print(one == make(), one == same, made == one, made == made, one ~= make())
end)
