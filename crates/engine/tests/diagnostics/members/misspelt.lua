-- What is like the name, or what there is.
local action, nf, linux = require "linux.xdp", require "linux.nf", require "linux"
require("xdp").attach(function(pkt)
  local function nested() return action.DORP end
  print(nf.action.NOTHING_LIKE_IT, math.hugh)
  if pkt.tcp then return action.DISCARD end
  return nested()
end)
