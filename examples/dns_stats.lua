-- Counts DNS questions by name and type, and prints the ten most frequent every five seconds.
--
-- The handler counts in the kernel, in a table that both sides see. The function below it is control code: it runs in the process
-- that attached the script, in ordinary Lua, and reads the same table.
local xdp = require "xdp"
local action = require "linux.xdp"

local port <const> = 53
-- Bytes of the header of a DNS message, before the question (RFC 1035, section 4.1.1).
local header <const> = 12
-- Labels of a name that are looked at; real names have fewer.
local most_labels <const> = 16

local types = { [1] = "A", [2] = "NS", [5] = "CNAME", [6] = "SOA", [12] = "PTR", [15] = "MX", [16] = "TXT", [28] = "AAAA",
  [33] = "SRV", [65] = "HTTPS", [255] = "ANY" }

local questions = map { key = "string:96", value = "int", capacity = 50000, evict = "lru" }

xdp.attach(function(pkt)
  local udp = pkt.udp
  if not udp or udp.dport ~= port or #pkt.payload <= header then
    return action.PASS
  end
  local message = pkt.payload
  local name, at = "", header + 1
  for _ = 1, most_labels do
    local length = message:byte(at)
    -- The end of the message, or a pointer, which no question begins with.
    if not length or length > 63 then
      return action.PASS
    end
    if length == 0 then
      break
    end
    name = name .. message:sub(at + 1, at + length) .. "."
    at = at + 1 + length
  end
  local high, low = message:byte(at + 1, at + 2)
  if not low or #name > 80 then
    return action.PASS
  end
  local kind = high * 256 + low
  local key = name:lower() .. " " .. (types[kind] or kind)
  questions[key] = (questions[key] or 0) + 1
  return action.PASS
end)

timer.every(5, function()
  local all = {}
  for key, count in pairs(questions) do
    all[#all + 1] = { key = key, count = count }
  end
  table.sort(all, function(a, b)
    return a.count > b.count or a.count == b.count and a.key < b.key
  end)
  print(("%d kinds of questions"):format(#all))
  for rank = 1, math.min(10, #all) do
    print(("%8d  %s"):format(all[rank].count, all[rank].key))
  end
end)
