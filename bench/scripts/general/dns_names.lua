-- Drops DNS queries for names in a list, and for names below them.
local xdp = require "xdp"
local action = require "linux.xdp"

local header, question = 42, 54
local listed = { ["ads.example"] = true, ["tracker.example.org"] = true, ["evil.example"] = true }

local function labels(text)
  local found, at = {}, 1
  while true do
    local length = text:byte(at)
    if not length or length == 0 then return found end
    found[#found + 1] = text:sub(at + 1, at + length):lower()
    at = at + length + 1
  end
end

xdp.attach(function(pkt)
  if pkt:getuint8(header + 2) >= 128 then return action.PASS end
  local name = labels(pkt:getstring(question))
  for first = 1, #name do
    if listed[table.concat(name, ".", first)] then return action.DROP end
  end
  return action.PASS
end)
