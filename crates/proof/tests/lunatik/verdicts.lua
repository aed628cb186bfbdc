-- What results mean at netfilter: the first byte of a datagram's payload says which of them the handler gives.
local netfilter = require("netfilter")
local nf = require("linux.nf")
local common = require("lib.offsets")

local results = {
  [0] = function() end,
  function() return nf.action.ACCEPT end,
  function() return nf.action.DROP end,
  function() return true end,
  function() return {} end,
  function() return "1" end,
  function() return 1.0 end,
  function() return -1 end,
  function() return 6 end,
  function() return 1.5 end,
  function() return 1 << 32 end,
  function() return (1 << 32) + 1 end,
  function() return "accept" end,
  function() error("no result") end,
  function() return 1, 7 end,
  function(skb) return skb:data("other") end,
  function(skb) return skb.data(7) end,
  function(skb) return #skb > 28 and 1 or 0 end,
  function(skb) return skb:data("net"):getuint8(0) == 0x45 and 1 or 0 end,
  function(skb) return skb:ifindex() == nil and 1 or 0 end,
  function(skb) return skb:data():getuint8(70000) end,
  function(skb) print(skb:data():getstring(28)) return 1 end,
  function(skb) return skb:data():getstring(3, 0) end,
  function(skb) return skb:data():getstring(#skb) end,
  function(skb) return skb:data():checksum(3, #skb - 30) end,
  function(skb) return skb:data():setstring(3, "") end,
  function(skb) return skb:data():setuint8(70000, "x") end,
  function(skb) return skb:data():setuint8(3, "x") end,
  function(skb) return skb:data():setstring(3, "x") end,
}

netfilter.register {
  pf = nf.proto.IPV4, hooknum = nf.inet.LOCAL_IN, priority = nf.ip.pri.FILTER,
  hook = function(skb)
    local packet = skb:data()
    if packet:getuint8(9) ~= common.UDP then return nf.action.ACCEPT end
    local result = results[packet:getuint8(common.payload(packet))]
    if result then return result(skb) end
    return nf.action.ACCEPT
  end,
}
