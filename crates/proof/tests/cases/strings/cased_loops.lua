-- Strings in a case, of strings that are made, in loops whose turns make others: kept in variables, in fields, for functions.
-- frames: udp tcp arp
local xdp = require "xdp"

xdp.attach(function(pkt)
  local text = (pkt.payload or "") .. " Hello World Abc"
  local first
  for word in text:gmatch("%S+") do
    if not first then first = (word .. "!"):lower() end
    local other = word .. ":"
  end
  print(first)

  local best = ""
  for word in text:gmatch("%a+") do
    local name = (word .. "."):lower()
    if name > best then best = name end
  end
  print(best)

  local held = { v = "" }
  for i = 1, 3 do
    local made = text:sub(-3) .. i
    print(held.v)
    held.v = made:upper()
  end
  print(held.v)

  local kept = "x"
  local function step(n)
    local made = kept:sub(1, 4) .. n
    kept = made:upper():sub(2)
    return made
  end
  for i = 1, 4 do print(step(i), kept) end

  local a, b = ("One" .. #text):lower(), ("Two" .. #text):upper()
  for i = 1, 3 do
    a, b = b, a
    local other = text:sub(-5) .. i
    print(a, b, other)
  end
  local turns = 0
  while turns < (#text & 3) + 2 do
    turns = turns + 1
    local copy = text:sub(-4):rep(2)
    if kept:find("BC") then print("found", kept) end
    kept = copy:upper()
  end
  print(kept, first, best)
end)
