-- A handler as scripts for Lunatik have them: connections to a port are refused by a RST that is made of a copy of the packet, and sent by its interface. Test
-- runs have none: there, nothing is sent.
local netfilter = require("netfilter")
local nf = require("linux.nf")

local TCP <const>, RST_ACK <const>, HEADER <const> = 6, 0x14, 20
local REFUSED_LITTLE <const> = 0x591b -- port 7001 as a little-endian read sees it

local function swap16(number) return (number & 0xff) << 8 | number >> 8 & 0xff end

local function swap32(number) return swap16(number & 0xffff) << 16 | swap16(number >> 16) end

-- Makes an answer of a segment whose header is at an offset.
local function answer(packet, at)
  local source = packet:getuint32(12)
  packet:setuint32(12, packet:getuint32(16))
  packet:setuint32(16, source)
  packet:setuint16(2, swap16(at + HEADER))
  local port, number = packet:getuint16(at), packet:getuint32(at + 4)
  packet:setuint16(at, packet:getuint16(at + 2))
  packet:setuint16(at + 2, port)
  packet:setuint32(at + 4, packet:getuint32(at + 8))
  packet:setuint32(at + 8, swap32(swap32(number) + 1))
  packet:setuint8(at + 12, 0x50)
  packet:setuint8(at + 13, RST_ACK)
  packet:setuint16(at + 18, 0)
end

local function hook(skb)
  local packet = skb:data("net")
  if packet:getuint8(9) ~= TCP then return nf.action.ACCEPT end
  local at = (packet:getuint8(0) & 0x0f) * 4
  if packet:getuint16(at + 2) ~= REFUSED_LITTLE then return nf.action.ACCEPT end
  local copy = skb:copy()
  answer(copy:data("net"), at)
  copy:resize(at + HEADER)
  copy:checksum()
  if skb:ifindex() then copy:forward() end
  return nf.action.DROP
end

netfilter.register { hook = hook, pf = nf.proto.IPV4, hooknum = nf.inet.FORWARD, priority = nf.ip.pri.FILTER }
