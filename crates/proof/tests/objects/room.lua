-- What a program puts before a packet takes room that is gone for those behind it, and for the script's own `grow`.
local xdp, eclat = require "xdp", require "eclat"
local until_there_is_none = eclat.chain("room.eclat", "until_there_is_none")
xdp.attach(function(pkt)
  if #pkt < 20 then return end
  local by = 1 + pkt:getbyte(1) % 64
  if #pkt % 3 == 0 then pkt:grow(#pkt % 50, "head") end
  print(by, until_there_is_none(pkt, by), #pkt)
end)
xdp.attach(function(pkt)
  if #pkt < 20 then return end
  print(until_there_is_none(pkt, 1 + #pkt % 16), #pkt)
end)
