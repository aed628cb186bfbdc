-- Thirty loops in loops, by calls of one function expanded in place: more than the verifier walks.
-- frames: hex:d7d29900639df04f46f9c80b330c11432b2e7b468dbe1ad2961b03ad48b2c2d8aafdcfd029e17d8730c406f7f50c815f042c3fae3e09e20eead0a467ab8b37fc922ff6744674b3d50e8c4f36eae5b9d50cbe38a18f3cefad1db700b358709915447241c6e73f48cff8e3957f74d25534bb045a4ccc597064af9c68fd2f2bb3a064ef03bfe9d2781c67a1e350b048c701891824098beccea17bd98aa6561eb7600f6a71634b4b970a3821deed666a344a4b5b14a352b58fb9aa8ff40115efe2544bd396d41a2dad1163b7ed678c6659
-- frames: hex:5fdbc695416c9df2e8c5b82fffb585e652947440e12046f29ccdddb21f978eced10a0380b14783a4f0a9d56aabf0d6e7e1296a63368b70bdb3d48c05a6a0740e67526056d8805e198d8e568355bf3c3f6666f7339371c95aaee6b2280901d05cdd1816e88176f165651973b71a81b3752bfbc517a510efb0bc4052f866b015c33f32cfc7543b18a5624e95716ef30869163dbe0f63d51ee75c7a828b5fb00a48190767a133aa592585eb219b
-- frames: hex:0b19735fd71695c531e311ff88a846b7bf4f0781b8016ac1967f0aba06ef2a68ad22509b57e05f51cf20d5da6f8564b7e62c60593f03c0048b8cfc960f7085171a5ee92896b6c7e000d78411ee61673c9ced93ec36c3047adff3cb628c4bf4e6385a5d907b8172ca70663ea64329d86781ce9a1e2cf3af87c97e14b5ba0a34f6a8733fe045317d8da239eb291bb6
-- frames: hex:39540012345602000000000a86dd62e123450020063f20010db800000000000000000000000120010db8600100000000000000000002c00001bbf00000010000000250924510cafe000968656c456f2c20776f726c64
local xdp = require "xdp"
local t = { 3, -1, 255, 4096, 7, 0, -128, 1 << 40 }
local function f0(p1)
  for i2 = 1, (p1 ~ -6) & 7 do
    do
      print(((i2 << 50) < (math.maxinteger)), (p1 == (i2 - i2)), (i2 % (i2 | 1)))
    end
    ::next3::
  end
  p1 = p1
  return ((1 << 40) << (((256) + p1) & 63))
end
local function f1(p4, p5)
  local c6 = 0
  repeat
    c6 = c6 + 1
    do
      local c8 = 0
      repeat
        c8 = c8 + 1
        do
          local v10 = f0((f0(p5)))
        end
        ::next9::
      until c8 >= 5 or ((f0((256))) ~= ((8) % (p5 | 1)))
    end
    ::next7::
  until c6 >= 9 or ((select(1, p4, p5)) == (p5 >> 5))
  return (f0((f0((256))))), (f0((p4 | p5))), p5
end
xdp.attach(function(pkt)
  local n = #pkt
  local c11 = 0
  while c11 < 12 and (((0xffff) - -6) >= (n - (63))) do
    c11 = c11 + 1
    do
      for i13 = (n - c11) & 15, math.abs((0xffff)) & 7 do
        do
          local v15 = (~ (f1(((256) ~ i13), pkt:getint16(c11 & 7))))
          local b16 = ((- (0xffff)) > v15)
        end
        ::next14::
      end
      for i17 = 1, (f0((10))) & 7, -1 do
        do
          local v19 = (t[((f1(i17, n)) - (math.ult((select(1, n, (3))), (i17 >> 30)) and n or c11)) & 15] or (~ (select(2, i17, i17))))
        end
        ::next18::
      end
    end
    ::next12::
  end
  for i20 = 1, (f1(n, n)) & 7 do
    do
      print((pkt:getint64(n - 8) & (i20 - n)))
    end
    ::next21::
  end
  local b22 = (pkt.udp ~= nil)
  if ((f0(-10)) >= (n + n)) then
    if ((n << (math.mininteger)) < ((0) & n)) then
      local v23 = n
    else
      local v24 = (f1((n // -1), (f0(n))))
      local v25 = v24
    end
  end
  local b26 = not (((1) < n) or (n >= n))
  local v27 = (math.ult(pkt:getint16(1), pkt:getint64((f1(n, n)) & 6)) and ((n << 14) % (n | 1)) or pkt:getuint16(n & 7))
end)
