-- A chain of eCLAT that calls programs in C and in Lua, and functions of a module.
local xdp, eclat = require "xdp", require "eclat"
local main = eclat.chain("chain.eclat", "main")
local before = 0
xdp.attach(function(pkt)
  if #pkt < 20 then return end
  before = before + 1
  print(main(pkt, pkt:getbyte(1) % 4), before)
end)
xdp.attach(function(pkt) print("second", #pkt, pkt:getbyte(0)) end)
