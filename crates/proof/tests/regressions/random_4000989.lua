-- Random program 4000989, made small: general code: output.
-- frames: hex:722d207ac990768c3d7bdcb68100613625d9c9793751f5c46b93cd025c7c3bbec8b7753dc7c52b75e4237bbffd6aa092276c6b2e55b1706d9e6e954a73514982cd441af39fa112789de7cf72466abda2f94e30327f141e510d31e18316c559e265ad3c812ed7f1573025e214e7064e1d87dcfed473382476671102839c
do local tc = require 'tc' package.loaded.xdp = { attach = tc.ingress, detach = tc.detach } package.loaded['linux.xdp'] = { ABORTED = 2, DROP = 2, PASS = -1, TX = 0, REDIRECT = 2 } end local xdp, tc = require "xdp", require "tc"
local cgroup, netfilter = require "cgroup", require "netfilter"
local match, socket = require "match", require "socket"
local function at_group(f) cgroup.egress("/", f) end
local function at_netfilter(f) netfilter.register { pf = 2, hooknum = 1, hook = f } end
local addresses, stations = require "ip", require "mac"
local questions = require "dns"
local function described(x)
  if type(x) == "table" then return "table " .. tostring(rawget(x, "v")) end
  if type(x) == "function" then return "function " .. tostring(x()) end
  return type(x) == "string" and x .. "!" or tostring(x)
end
local function short(s)
  return #s > 40 and s:sub(1, 40) or s
end
local t = { 3, -1, 255, 4096, 7, 0, -128, 1 << 40 }
local s1 = ("\u{e4}\u{20ac}\u{1f600}")
local function f4() return "called" end
local function turn3(k)
  if k & 3 == 0 then held2 = 5
  elseif k & 3 == 1 then held2 = f4 end
end
local function f6(p7, p8)
  turn3((19 << p7))
  print(described(held2), type(held2))
  local v9 = math.tointeger((t[(p7 + p7) & 15] or ((-256) >> 29)))
  local v10 = p7
  for i11 = ((- v9) & 15), (#addresses.prefix(addresses.parse("fe80:" .. v9 .. "::") or "2001:db8:1:2:3:4:5:6", ((s1:byte(((s1:byte(0) or (0x7fffffff)) & 15)) or 23) & 31)) & 7), (#s1:reverse() & 3) do
  end
  return (((math.max(p7, v9) <= (rawequal((t[v10 & 15] or v9), ((p8 < p7) or ((1) == v9)) and 1 or "1") and 1 or 0)) and p7 or v9) + (p8 % ((0xffff) | 1))), ((p8 >= (100)) and (((select(-2, (7), v9)) ~= v9) and (3) or (math.maxinteger)) or ((-5) + v9)), (tonumber((not (4 ~= (256))) and "12" or (p7 & (1 << 40))) or 0)
end
xdp.attach(function(pkt)
  local n = #pkt
  if pkt.eth and #pkt < 130 then pkt:push_vlan(0, (pkt:checksum(10) & 7) , nil) end
  if pkt.udp and pkt.eth then print(pkt.quic and pkt.quic.version) pkt.udp.dport = 7 print(pkt.quic and pkt.quic.version) end
  if pkt.udp and pkt.eth then print(pkt.vxlan and pkt.vxlan.vni) pkt.udp.dport = 7 print(pkt.vxlan and pkt.vxlan.vni) end
  if ((s1:find(pkt:getstring(((pkt.meta or (-10)) & 7), (pkt:getnumber(3) & 7)), (-5), true) or (100)) ~= (n * n)) then
    if pkt.eth and #pkt < 800 and pkt.icmp and not pkt.ip.more_fragments then pkt.payload = ("\u{e4}\u{20ac}\u{1f600}") print(#pkt, pkt.ip.length, (pkt.tcp or pkt.udp or pkt.icmp).checksum) end
    print(described(held2))
    turn3((s1:byte(0) or (0xffff)))
    print(described(held2), type(held2))
    pkt:setuint16((pkt:getuint8(12) % (n - 1)), (rawequal((n & n), ((8 == (63)) and (n > n)) and 1 or "1") and 1 or 0))
  else
    if pkt.vlan then local header = pkt.vlan local function set() header.type = ((1 << 40) & 65535) end set() end
    if ((- (0x80000000)) == (tonumber(((24 & (-9)) & 255) .. "", 16) or n)) then
      if pkt.eth and #pkt < 800 and pkt.icmp and not pkt.ip.more_fragments then pkt.payload = pkt:getstring(1, 13) print(#pkt, pkt.ip.length, (pkt.tcp or pkt.udp or pkt.icmp).checksum) end
    elseif (s1 >= ("THE (quick) fox")) then
      if pkt.eth and #pkt < 1500 then pkt:grow((((0x80000000) % (-1)) & 15), "tail") end
    else
      if pkt.ip and pkt.ip.version == 6 then pkt.ip.src = "2001:db8::77" end
      if (math.max(0, s1:sub((-(n & 15)), 2):byte(1, -1)) >= pkt:getbyte(2)) then
        if pkt.arp and #pkt >= 43 then local header = pkt.arp local held = pkt:getstring(29, 14) header.target = pkt.arp.sender print(held:byte(7), held == pkt:getstring(29, 14)) end
        print(type(s1))
      else
        if (n >= n) then
          return math.ult(n, (tonumber((pkt.ip ~= nil) and "12" or n) or 0))
        end
      end
    end
  end
  local v22 = n
  pkt:setbyte(10, (t[(s1:byte(n) or 19) & 15] or (pkt.eth and redirect((#pkt + 1)) or (-12))))
  if pkt.eth then pkt.eth.type = 0 end
  local held23 do local k = ((s1 .. ("\0\1\255")):byte(11) or (-4)) held23 = k end
  local function turn24(k)
    if k & 1 == 0 then held23 = nil
    else held23 = "ab" end
  end
  if (pkt[({ "udp", "tcp" })[1 + ((pkt.ifindex or 4) & 1)]] ~= nil) then
    string.gsub("x", "x", function() turn24(((-2) * v22)) end)
  end
  print(described(held23), (held23 and true or false), type(held23))
  if pkt.vlan and #pkt > 30 then pkt.vlan.id = (((pkt.mark or (63)) - (- n)) & 4095) print(pkt.vlan.id, pkt.vlan.inner_id) end
  if ((s1 .. s1) >= s1) then
    local v25 = (f13(v22))
    local v26 = (((pkt.inner and pkt.inner.gre and pkt.inner.gre.type or (100)) | (v25 - n)) ~ v25)
  end
  if pkt.eth and pkt.ip and (pkt.ip.proto == 4 or pkt.ip.proto == 41) then pkt:decap() print(#pkt, pkt.ip and pkt.ip.dst) end
  if (not (pkt:checksum((v22 & 13)) <= (~ v22))) then
    print(pkt:getint32(19))
    print((n > pkt:checksum(((1) << 68) % (#pkt + 1))))
    local held27 do local k = (("GET /index.html HTTP/1.1"):find(("key=value; other=12"), (pkt.eth and pkt.eth.type or 22), true) or 21) held27 = nil end
    local function turn28(k)
      if k & 1 == 0 then held27 = "ab"
      else held27 = nil end
    end
    do
      table.sort({ 2, 1 }, function(a, b) turn28(pkt:getuint32(8)) return a < b end)
    end
    print(described(held27), (held27 and true or false), type(held27))
  end
  if pkt.eth and #pkt < 800 and pkt.icmp and not pkt.ip.more_fragments then pkt.payload = "an answer" print(#pkt, pkt.ip.length, (pkt.tcp or pkt.udp or pkt.icmp).checksum) end
  local v29 = (pkt.eth and redirect("eth0") or (100))
  local s30 = ("%d$^.*")
  return (("(a(b)c)"):byte((((256) .. ("GET /index.html HTTP/1.1")):find(s30, 2, true) or (0xffffffff))) or (-12)) & 3
end)
xdp.attach(function(pkt)
  local n = #pkt
  local v31 = (#pkt:getstring((pkt:getuint16((n - 2)) & 7), ((n ~ n) & 7)) + ((~ n) + (t[n & 15] or (0x80000000))))
  string.gsub("x", "x", function() turn3(math.floor(v31)) end)
  print(described(held2), type(held2))
  if pkt.eth and pkt.udp then pkt:fix_checksums() end
  v31 = (t[(pkt.meta or (3)) & 15] or (f13((pkt.mpls and pkt.mpls.label or (64)))))
  local c32 = 0
  repeat
    c32 = c32 + 1
    if pkt.tcp then pkt.tcp.seq = ((t[(select(-1, v31, c32)) & 15] or (f6(n, c32))) & 4294967295) end
    print((pkt:getbyte((v31 % (n - 0))) // 2), type(("abc")))
  until c32 >= 4 or (pkt.dns ~= nil)
  if ((pkt.eth and redirect((#pkt + 1)) or (63)) <= (pkt.priority or (100))) then
    local v34 = f13((14 * v31))
    if pkt.eth and pkt.ip and not pkt.vlan and #pkt < 110 then pkt:encap("192.0.2.77", "198.51.100.1", ((-1) & 255) & 0xff) print(pkt.ip.length, pkt.ip.checksum, pkt.ip.dst, pkt.payload)  end
    local held35 do local k = (f16(pkt, v34, (63), v34)) held35 = "t" .. k end
    local function turn36(k)
      if k & 1 == 0 then held35 = "t" .. k
      else held35 = { v = k } end
    end
    if ((s1 .. ("  trim me  ")) ~= ((t[(-8) & 15] or v34) <= (9 % ((pkt:checksum((pkt:getuint8(5) & 7), 6) <= (t[n & 15] or v34)) and "abc" or n)))) then
      local _ = (function(...) turn36(...) end)((pkt.priority or (math.maxinteger)))
    end
    print(described(held35), (held35 and true or false), type(held35))
  elseif ((v31 | (math.maxinteger)) >= pkt:getuint8((n & 7))) then
    if (v31 < (- v31)) then
      for i37 = 1, 1, ((v31 + n) & 3) do
        do
          pkt:setuint16(12, pkt:checksum((f13(v31)) % (#pkt + 1)))
        end
        ::next38::
      end
      for i39 = (v31 & 15), (pkt:getbyte(((v31 - (100)) % (n - 0))) & 7) do
        if pkt.eth and #pkt < 130 and pkt.ip and not pkt.vlan then pkt:grow((n & 63), "head") end
        if pkt.vlan and #pkt > 30 then pkt.vlan.type = (pkt:getuint32(2) & 65535) print(pkt.vlan.type, pkt.vlan.inner_id) end
      end
    else
      local c41 = 0
      while c41 < 7 and ((13 ~= v31) and (n < n)) do
        c41 = c41 + 1
        if pkt.eth and pkt.dns and not pkt.dns.qr and pkt.dns.opcode == 0 and pkt.dns.qclass and not pkt.ip.more_fragments and #pkt < 500 then local k = (c41 & 4294967295) questions.answer(pkt, {}) print(pkt.dns.flags, pkt.dns.ancount, pkt.ip.dst, pkt.udp.checksum, #pkt) end
      end
    end
  else
  end
  return 10 & 3
end)
