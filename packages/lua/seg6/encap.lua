-- encap(number): puts an IP packet into one of IPv6 that goes by way of the segments of the list with that number (H.Encaps, RFC 8986, section 5.1).
-- Gives 1, or 0 where it cannot: no such list, no IP packet or one behind VLAN tags; where there is no room, that is a run-time error. The
-- lists are the module `segments`, a file segments.lua in the script's folder: return { [1] = { source = "fc00::1", "fc00:a::", "fc00:b::" } }
-- with 1 to 4 segments in the order of the way.
--
-- Traffic class and, of IPv6, flow label are those of the packet within. Segments that are the only one have a routing header, too.
local byteorder, ip_addresses = require "byteorder", require "ip"

local ROUTING <const>, SEGMENT_ROUTING <const>, IPV6 <const>, IPV4 <const> = 43, 4, 41, 4
local HOP_LIMIT <const>, LINK <const>, HEADER <const> = 64, 14, 40

-- The bytes of an address: groups in front of `::`, zeros, groups behind it (RFC 4291, section 2.2).
local function bytes(text)
  text = ip_addresses.parse(text)
  assert(text and text:find(":", 1, true), "IPv6 address expected")
  -- Of an address that has one of IPv4 in it (::ffff:192.0.2.1), the last two groups are written as that.
  text = text:gsub("(%d+)%.(%d+)%.(%d+)%.(%d+)$", function(a, b, c, d)
    return ("%x:%x"):format(tonumber(a) << 8 | tonumber(b), tonumber(c) << 8 | tonumber(d))
  end)
  local front, back = text:match "^(.-)::(.*)$"
  local function groups(part)
    return (part:gsub("(%x+):?", function(digits) return string.pack(">I2", tonumber(digits, 16)) end))
  end
  front, back = groups(front or text), groups(back or "")
  return front .. ("\0"):rep(16 - #front - #back) .. back
end

-- What goes in front of packets, but for what it has of them.
local function outer(list)
  local segments = ""
  for _, segment in ipairs(list) do
    segments = bytes(segment) .. segments
  end
  local last = #list - 1
  local header = ("\0"):rep(6) .. string.char(ROUTING, HOP_LIMIT) .. bytes(list.source) .. bytes(list[1])
  return header .. string.char(0, 2 * #list, SEGMENT_ROUTING, last, last, 0, 0, 0) .. segments
end

local outers = {}
for number, list in pairs(require "segments") do
  outers[number] = outer(list)
end

return function(pkt, number)
  local headers, ip = outers[number & 0xffffffff], pkt.ip
  if not headers or not ip or pkt.vlan then
    return 0
  end
  -- Of the inner header: what begins the outer one, how long the packet is, and its number.
  local first, length, next
  if ip.version == 6 then
    first = byteorder.be32toh(pkt:getuint32(LINK))
    length = HEADER + byteorder.be16toh(pkt:getuint16(LINK + 4))
    next = IPV6
  else
    first = 6 << 28 | ip.tos << 20
    length = byteorder.be16toh(pkt:getuint16(LINK + 2))
    next = IPV4
  end
  length = length + #headers - HEADER
  if length > 0xffff then
    return 0
  end
  local link = pkt:getstring(0, 12)
  pkt:grow(#headers, "head")
  pkt:setstring(0, link)
  pkt:setstring(12, "\x86\xdd")
  pkt:setstring(LINK, headers)
  pkt:setuint32(LINK, byteorder.htobe32(first))
  pkt:setuint16(LINK + 4, byteorder.htobe16(length))
  pkt:setbyte(LINK + HEADER, next)
  return 1
end
