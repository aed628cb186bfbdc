-- Questions for listed names are dropped, as resolvers of this host send them.
local netfilter = require("netfilter")
local nf = require("linux.nf")
local byteorder = require("byteorder")

local listed = { "blocked%.example", "bad" }

local function name_at(packet, offset)
  local _, _, name = packet:getstring(offset):find("([^\0]*)")
  return name
end

local function is_listed(name)
  for _, pattern in ipairs(listed) do
    if name:gsub("[\1-\63]", "."):find(pattern) then return true end
  end
  return false
end

local function hook(skb)
  local packet = skb:data("net")
  local header = (packet:getuint8(0) & 0x0f) * 4
  if packet:getuint8(9) == 17 and byteorder.ntoh16(packet:getuint16(header + 2)) == 53 then
    local name = name_at(packet, header + 20)
    if is_listed(name) then
      print("blocked " .. #name)
      return nf.action.DROP
    end
  end
  return nf.action.ACCEPT
end

netfilter.register { hook = hook, pf = nf.proto.INET, hooknum = nf.inet.LOCAL_OUT, priority = nf.ip.pri.FILTER }
