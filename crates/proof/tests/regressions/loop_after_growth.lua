-- Random program 21, made small: MH0505 the kernels verifier rejects program R pointer arithmetic on pktend prohibited.
-- frames: hex:74b08df46f5ee81cc68bcc47bb4efafacce808e38ce2d3a26b841226af0173fefc80b515d966ea6f7eee84dc9bdc3e5c160d5e54e700100fd0adfc6af1ae3348d9139591
local xdp, tc = require "xdp", require "tc"
local u1 = (1 << 40)
local u2 = (10)
local u3 = (-256)
local t = { 3, -1, 255, 4096, 7, 0, -128, 1 << 40 }
local s4 = ("aaaaab")
local function f5(p6, p7)
  p7 = (p7 | (- u2))
  local s8 = s4:lower()
  return (0x7fffffff), (- (tonumber(((((256) ~= p6) and 2 or 17) & 255) .. "", 16) or (0x7fffffff))), (t[(u3 << (0x80000000)) & 15] or (select(2, (0xffffffff), u1)))
end
local function f9(p10, p11, p12)
  local s13 = tostring((64))
  if ((u3 * p11) < p11) then
    print(((("GET /index.html HTTP/1.1") .. ("THE (quick) fox")) >= tostring((-1))))
    local c14 = 0
    while c14 < 4 and ((p11 < p10) and (u3 == p11)) do
      c14 = c14 + 1
      local s16 = short(((11 < (select(1, (-8), 26))) and ("-7") or p12))
    end
    print(p10, p10)
  else
    local b17 = ((s13 .. (1) .. s13) ~= ("abc"):sub(u2, (((-8) - p11) & 15)))
    local v18 = p11
  end
  return #s4, 12
end
xdp.attach(function(pkt)
  local n = #pkt
  local b25 = math.ult((f9(n, u2, s4)), (t[n & 15] or 5))
  local c26 = 0
  repeat
    c26 = c26 + 1
    print((pkt:checksum((t[u3 & 15] or (-1)) % (#pkt + 1)) < (select(1, c26, c26))), b25, (pkt[string.char(117, 100, 112)] ~= nil))
    pkt:setuint16(11, ((rawequal(n, (pkt:checksum(pkt:checksum((25 - u2) % (#pkt + 1)) % (#pkt + 1)) == ((((n < (-3)) or (2 ~= c26)) and s4 or ("THE (quick) fox")):byte((1 << 40)) or (-1))) and 1 or "1") and 1 or 0) & n))
  until c26 >= 8 or ((u1 - u1) < (u1 - u2))
  for i28 = 1, 8 do
    u3 = u3 + (7 << (((~ n) < ((-8) // 255)) and "7" or (f5(u2, i28))))
  end
  u1 = u1 + pkt:getint32(1)
  u2 = pkt:getbyte(19)
  if pkt.eth and #pkt < 1500 then pkt:grow(((u2 ~ u3) & 15)) end
  local v30, v31 = f9(math.max(0, string.sub(s4, 2):byte(1, -1)), u2, s4)
  local o32 = {}
  for i33 = 1, 12 do
    o32[#o32 + 1] = pkt:getstring(i33 & 7, 2)
  end
  print(table.concat(o32, ", "), #o32)
  for i34 = 1, (pkt:checksum(4, 3) & 7) do
    do
      v30 = #s4
    end
    ::next35::
  end
  return (pkt:checksum(((s4:byte((~ (1))) or (7)) & 7), 1) % (-16)) & 3
end)
