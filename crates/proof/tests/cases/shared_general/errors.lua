-- Errors of assignments are caught as all others are, and what was assigned before stays.
-- frames: tcp:a\sbb\sccc\sdddd udp:eeeee\sffffffff\sg tcp:a udp:hh\sii\sjj
local xdp = require "xdp"
local few = map { key = "string:4", value = "int", capacity = 4 }
local texts = map { key = "int", value = "string:3", capacity = 100 }
xdp.attach(function(pkt)
  local function count(word) few[word] = (few[word] or 0) + 1 end
  for word in (pkt.payload or ""):gmatch("%w+") do
    print(word, pcall(count, word))
    print(few[word], pcall(function() if not texts[#word] then texts[#word] = word end end))
    print(texts[#word], #word)
  end
  local nothing = #pkt < 10 and "x" or nil
  print(pcall(function() few[nothing] = 1 end))
  print(few[nothing])
  few["too long"] = nil
  print(few.a.b)
end)
