-- At one place of netfilter the handler that was registered last is asked first; at XDP only the last one stays.
local netfilter = require("netfilter")
local nf = require("linux.nf")
local xdp = require("xdp")

local function says(text, verdict)
  return function(skb)
    print(text)
    return verdict
  end
end

local function at(priority, hook)
  netfilter.register { pf = nf.proto.IPV4, hooknum = nf.inet.FORWARD, priority = priority, hook = hook }
end

at(0, says("never", 1))
at(0, says("second", 0))
at(0, says("first", 1))
xdp.attach(says("replaced", 2))
xdp.attach(function(packet, argument)
  print("xdp", argument:getbyte(1))
end)
