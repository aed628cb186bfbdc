local xdp = require "xdp"

local Address = { __eq = function(a, b) return a.text == b.text end }
local home = setmetatable({ text = "192.0.2.1" }, Address)
local work = setmetatable({ text = "192.0.2.1" }, Address)
xdp.attach(function(pkt)
  local peer = work
  if #pkt > 100 then peer = home end
  if peer == home then return 1 end
end)
