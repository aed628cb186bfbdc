-- A constructor that packet code may find by a computed name has to have a form.
local all, Rule = {}, {}
Rule.__index = Rule
function Rule.keep(n) all[#all + 1] = setmetatable({ n = n }, Rule) end
Rule.keep(50)
require("xdp").attach(function(pkt)
  print(all[1].n, Rule[pkt:getstring(0, 4)])
end)
