local xdp = require "xdp"
xdp.attach(function(pkt)
  local n = pkt:getbyte(0)
  local why
  if n == 1 then why = "one" elseif n == 2 then why = "two" end
  if n > 0 and n < 3 then error("bad: " .. why) end
  local found = string.match(pkt.payload or "", "a(b)c")
  if found == nil then return 2 end
  if found .. "x" == "bx" then return 1 end
end)
