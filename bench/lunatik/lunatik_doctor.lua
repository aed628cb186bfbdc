-- A handler as scripts for Lunatik have them: the addresses in answers for a name are others when they come in. Nothing is done about checksums: these
-- answers have none.
local netfilter = require("netfilter")
local nf = require("linux.nf")

local UDP <const>, HEADER <const> = 17, 8
local DNS_LITTLE <const>, A_LITTLE <const> = 53 << 8, 1 << 8 -- as little-endian reads see them
local NAME <const> = string.pack("s1s1s1", "www", "doctored", "example")
local ADDRESS_LITTLE <const> = 0x0302010a -- 10.1.2.3

local function hook(skb)
  local packet = skb:data("net")
  if packet:getuint8(9) ~= UDP then return nf.action.ACCEPT end
  local transport = (packet:getuint8(0) & 0x0f) * 4
  if packet:getuint16(transport) ~= DNS_LITTLE then return nf.action.ACCEPT end
  local message = transport + HEADER
  local question = message + 12
  if packet:getstring(question):match("^[^\0]+") ~= NAME then return nf.action.ACCEPT end
  local answers = packet:getuint16(message + 6) >> 8
  local answer = question + #NAME + 1 + 4
  for _ = 1, answers do
    if packet:getuint16(answer + 2) == A_LITTLE then packet:setuint32(answer + 12, ADDRESS_LITTLE) end
    answer = answer + 16
  end
  return nf.action.ACCEPT
end

netfilter.register { hook = hook, pf = nf.proto.IPV4, hooknum = nf.inet.PRE_ROUTING, priority = nf.ip.pri.MANGLE + 1 }
