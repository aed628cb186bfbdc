-- `string.gmatch` in loops, by hand, with captures, positions, empty matches, an initial position, and two at once.
-- frames: tcp udp icmp arp hex:0001020304050607080910111213 eth:the\sreport\sof\sMonday,\ssays\sthat;\sit\sis\sdue\s2026 eth:aXbXXc eth:a,b,,c
local xdp = require "xdp"

xdp.attach(function(pkt)
  local text = pkt:getstring(14)
  local words, letters = 0, 0
  for word in text:gmatch("%a+") do
    words, letters = words + 1, letters + #word
    if words < 4 then print(word) end
  end
  print(words, letters)
  local turns = 0
  for at, letter in text:gmatch("()(%l)%u") do
    turns = turns + 1
    print(at, letter)
    if turns == 3 then break end
  end
  local empty = 0
  for digits in text:gmatch("%d*") do
    if #digits == 0 then empty = empty + 1 else print(digits) end
  end
  print(empty)
  for part in text:gmatch("[^,]*") do
    if part == "" then print("empty") break end
  end
  for word in text:gmatch("%w+", -6) do print(word) end
  for word in text:gmatch("%w+", #pkt * 10) do print("behind", word) end
  print(text:gmatch("^%w")() == nil, ("^a"):gmatch("^a")())

  local first, second = text:gmatch("%a+"), text:gmatch("%d+")
  print(first(), second(), first(), second())
  local pairs_of = 0
  for a in ("x y z"):gmatch("%a") do
    for b in text:gmatch("[Xr]") do pairs_of = pairs_of + #a + #b end
  end
  print(pairs_of)
end)
