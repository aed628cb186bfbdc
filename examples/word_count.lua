-- Drops UDP datagrams whose most frequent word is "offer", and prints the three most frequent words of the others.
--
-- Everything below the line `xdp.attach` runs in the kernel, once for each frame: the tables, the strings that gmatch makes,
-- and the sorting. What a frame's handler makes is gone when it returns, so nothing has to be freed.
local xdp = require "xdp"
local action = require "linux.xdp"

local unwanted <const> = "offer"
local shown <const> = 3

-- Words that occur everywhere say nothing. This table is written at load time and only read afterwards.
local common = {}
for word in ("a an and in is it of on or the to"):gmatch("%a+") do
  common[word] = true
end

-- A table of how often each word occurs, and a list of the words in the order in which they came.
local function count_words(text)
  local counts, words = {}, {}
  for word in text:lower():gmatch("%a+") do
    if not common[word] then
      if not counts[word] then
        words[#words + 1] = word
      end
      counts[word] = (counts[word] or 0) + 1
    end
  end
  return counts, words
end

xdp.attach(function(pkt)
  if not pkt.udp then
    return action.PASS
  end
  local counts, words = count_words(pkt.payload)
  -- The most frequent first; words that are equally frequent in alphabetical order.
  table.sort(words, function(a, b)
    if counts[a] ~= counts[b] then
      return counts[a] > counts[b]
    end
    return a < b
  end)
  if words[1] == unwanted then
    return action.DROP
  end
  for i = 1, math.min(shown, #words) do
    print(words[i], counts[words[i]])
  end
  return action.PASS
end)
