-- Modules that only compute are there without `--control`: for the script, and for its handlers.
local netfilter, nf, byteorder = require("netfilter"), require("linux.nf"), require("byteorder")
local class, net, struct = require("class"), require("net"), require("struct")

local Counted = class{ name = "nothing" }
local addresses = Counted:new{ name = "addresses" }
function Counted:title() return self.name .. "!" end

local gateway = net.aton("10.0.0.1")
assert(net.ntoa(gateway) == "10.0.0.1" and addresses:title() == "addresses!")
local ports = struct { size = 4, fields = { { name = "from", offset = 0, size = 2 }, { name = "to", offset = 2, size = 2 } } }
assert(ports.format == "=I2I2" and ports:fieldsize("to") == 2 and ports:unpack(ports:pack(7, 8)) == 7)

netfilter.register { pf = nf.proto.IPV4, hooknum = nf.inet.LOCAL_IN, priority = 0, hook = function(skb)
  local packet = skb:data()
  local source = byteorder.ntoh32(packet:getuint32(12))
  print(addresses:title(), net.ntoa(source), source == gateway, ports:fieldsize("from"))
  return nf.action.ACCEPT
end }
netfilter.register { pf = nf.proto.IPV4, hooknum = nf.inet.LOCAL_OUT, priority = 0, hook = function(skb)
  local from, to = ports:unpack(skb:data():getstring(20, 4))
  print(byteorder.ntoh16(from), byteorder.ntoh16(to), net.aton("1.2.3." .. byteorder.ntoh16(to)))
  return nf.action.ACCEPT
end }
