-- The types of undeclared tables, where keys and values come from far behind in lists of arguments and results.
-- frames: tcp
local xdp = require "xdp"
local results, inner, params, extra, more, protected, asserted, called, unpacked, made, mixed = {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}
local function depth(n) if n <= 0 then return 0 end return 1 + depth(n - 1) end
local function many() return 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 'text' end
local function words() return 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o', 'p', 'q', 'r', 's', 'text' end
local function two() return 1, 'text' end
local function texts() return 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 'a', 'b', 'c', 'd', 'e', 'f', 'text' end
local function behind() return 0, texts() end
local function keep(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20) params[a1] = a20 end
local function keep_late(k, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21) more[k] = a21 end
local function keep_extra(k, ...) extra[k] = (select(18, ...)) end
local object = setmetatable({}, { __call = function(_, k, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21)
  called[k] = a21
end })
xdp.attach(function(pkt)
  local d = depth(pkt:getbyte(0))
  local a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21 = many()
  results[d] = a20
  a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21 = behind()
  inner[d] = a21
  keep(d, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 'text')
  keep_late(d, texts())
  keep_extra(d, words())
  object(d, texts())
  a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21 = pcall(many)
  protected[d] = a21
  a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21 = assert(texts())
  asserted[d] = a20
  a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19 = string.unpack("BBBBBBBBBBBBBBBBz", "0123456789abcdeftext\0")
  unpacked[d] = a17
  local list = { words() }
  made[d] = list[20]
  local _, text = two()
  mixed[d] = text
  print(results[d], inner[d], params[d], more[d], extra[d], called[d], protected[d], asserted[d], unpacked[d], made[d], mixed[d])
end)
