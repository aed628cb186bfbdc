-- Answers in real Lua, by what packets have: gives what is wrong, or nothing.
local lua = ...
local string, pcall = lua.string, lua.pcall

local HEADER <const> = 12
local TYPES <const> = { [4] = 1, [16] = 28 }

-- Name, type and class of the first question.
local function question(message)
  local at = HEADER + 1
  while string.byte(message, at) ~= 0 do
    at = at + 1 + string.byte(message, at)
  end
  return string.sub(message, HEADER + 1, at + 4)
end

return function(packet, address, ttl, rcode)
  local dns, ip = packet.dns, packet.ip
  if not dns or dns.flags & 0xf800 ~= 0 or not dns.qclass or ip.more_fragments then
    return "packet asks no question"
  end
  local message, count, record = packet.payload, 0, ""
  local question = question(message)
  if address and TYPES[#address] == dns.qtype and dns.qclass == 1 then
    count = 1
    record = string.pack(">I2I2I2I4s2", 0xc00c, dns.qtype, 1, ttl, address)
  end
  local flags = dns.flags & 0x0110 | 0x8400 | rcode
  local answer = string.pack(">I2I2I2I2I2I2", dns.id, flags, 1, count, 0, 0) .. question .. record
  local done, problem = pcall(function() packet.payload = answer end)
  if not done then
    return string.match(problem, "packet cannot.*")
  end
  local eth, udp = packet.eth, packet.udp
  eth.src, eth.dst = eth.dst, eth.src
  ip.src, ip.dst = ip.dst, ip.src
  udp.sport, udp.dport = udp.dport, udp.sport
  ip.ttl = 64
  packet:fix_checksums()
end
