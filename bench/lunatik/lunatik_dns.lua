-- A handler as scripts for Lunatik have them: questions for listed names are dropped on their way out of this host.
local netfilter = require("netfilter")
local nf = require("linux.nf")

local UDP <const>, HEADER <const> = 17, 8
local DNS_LITTLE <const> = 53 << 8 -- port 53 as a little-endian read sees it

local listed = {}
for _, name in ipairs { "ads.example", "tracker.example", "malware.example.net", "blocked.example.org" } do
  listed[(name:gsub("[^.]+%.?", function(label)
    label = label:gsub("%.", "")
    return string.char(#label) .. label
  end))] = true
end

local function hook(skb)
  local packet = skb:data("net")
  if packet:getuint8(9) ~= UDP then return nf.action.ACCEPT end
  local transport = (packet:getuint8(0) & 0x0f) * 4
  if packet:getuint16(transport + 2) ~= DNS_LITTLE then return nf.action.ACCEPT end
  local question = packet:getstring(transport + HEADER + 12)
  local name = question:match("^[^\0]+")
  return name and listed[name] and nf.action.DROP or nf.action.ACCEPT
end

netfilter.register { hook = hook, pf = nf.proto.IPV4, hooknum = nf.inet.LOCAL_OUT, priority = nf.ip.pri.FILTER }
