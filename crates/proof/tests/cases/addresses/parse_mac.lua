-- MAC addresses out of texts and bytes that come in packets.
-- frames: udp: udp:52:54:00:12:34:56 udp:52-54-00-12-34-5F udp:52:54-00:12:34:56 udp:52:54:00:12:34-56 udp:AA:bb:Cc:dD:EE:ff udp:aa:bb:cc:dd:ee:fg
-- frames: udp:aa:bb:cc:dd:ee:f udp:aa:bb:cc:dd:ee:ff: udp:abcdef udp:\x00\x01\x02\xfd\xfe\xff udp:abcde udp:abcdefg udp:aa.bb.cc.dd.ee.ff
-- frames: udp:0:00:00:00:00:000 udp:::::::::::::::::: udp:----------------- udp:a::bb:cc:dd:ee:ff udp:52:54:00:12:34:5\x00 udp:\xff2:54:00:12:34:56 icmp udp6
local xdp = require "xdp"
local mac = require "mac"
local known = { [mac.parse "52-54-00-12-34-5F"] = 1, [mac.parse "abcdef"] = 2 }
local seen = map { key = "mac", value = "int", capacity = 256 }

xdp.attach(function(pkt)
  local text = pkt.payload
  if not text then return 1 end
  local address = mac.parse(text)
  print(#text, address, address and known[address], address == "52:54:00:12:34:56", mac.parse(pkt:getstring(6, 6)) == pkt.eth.src)
  if address then
    seen[address] = (seen[address] or 0) + 1
    print(#address, seen[address])
  end
end)
