-- Drops DNS questions for names under the domains listed in suffixes.txt (one a line), over IPv4 and IPv6.
--
-- A question (RFC 1035, section 4.1.2) has its name as labels: a byte with the length, then so many bytes, up to a length of 0.
-- The handler takes them apart with the string functions that any Lua script uses. A message that ends too early raises no
-- error here: string.unpack is called by pcall, and what it complains of counts as no name.
local xdp = require "xdp"
local action = require "linux.xdp"

local port <const> = 53
-- Bytes of the header of a DNS message, before the question.
local header <const> = 12

local listed = {}
for line in io.lines "suffixes.txt" do
  if line ~= "" and line:sub(1, 1) ~= "#" then
    listed[line:lower()] = true
  end
end

-- The labels of the name at a position of a message, in lower case: { "www", "example", "org" }.
local function labels_of(message, at)
  local labels = {}
  while true do
    local label
    -- `s1` is a string with its length in one byte before it. Lengths of 64 and more are no labels but pointers.
    label, at = string.unpack("s1", message, at)
    if #label == 0 then
      return labels
    elseif #label > 63 then
      error("a pointer in a question")
    end
    labels[#labels + 1] = label:lower()
  end
end

-- The domain in the list that a name is under, or nil: www.a.example is under www.a.example, a.example and example.
local function listed_domain(labels)
  for first = 1, #labels do
    local domain = table.concat(labels, ".", first)
    if listed[domain] then
      return domain
    end
  end
end

xdp.attach(function(pkt)
  local udp = pkt.udp
  if not udp or udp.dport ~= port or #pkt.payload < header then
    return action.PASS
  end
  local good, labels = pcall(labels_of, pkt.payload, header + 1)
  if not good then
    return action.PASS
  end
  local domain = listed_domain(labels)
  if domain then
    print(("%s asked for %s, under %s"):format(pkt.ip.src, table.concat(labels, "."), domain))
    return action.DROP
  end
  return action.PASS
end)
