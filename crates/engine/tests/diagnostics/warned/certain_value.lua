-- A value that fits no packet is a slip; one that may fit is none, nor is an error that the script itself raises.
require("tc").egress(function(pkt)
  if #pkt > 1000 then assert(false, "long") end
  if #pkt > 900 then error("less long") end
  if pkt.ip then pkt.ip.dscp = #pkt end
  if pkt.ip then pkt.ip.ttl = 300 end
end)
