-- Every type of key and value; reading keys that cannot be there.
-- frames: tcp udp6 tcp arp vlan-tcp icmp tcp udp6
local xdp = require "xdp"
local macs, flags, ends, by_flag, ids = {}, {}, {}, {}, { [-1] = true, [0] = false }
xdp.attach(function(pkt)
  local eth = pkt.eth
  macs[eth.src] = eth.dst
  by_flag[pkt.vlan ~= nil] = #pkt
  ids[eth.type] = not ids[eth.type]
  print(macs["02:00:5e:10:00:01"], macs[eth.src], macs[1], macs.x, by_flag[true], by_flag[false], ids[-1], ids[0])
  if pkt.ip then
    ends[pkt.ip.src] = pkt.ip.dst
    flags["last"] = pkt.ip.ttl
    flags["proto " .. pkt.ip.proto] = eth.type
    print(ends[pkt.ip.src], ends["192.0.2.7"], ends["not one"], ends[true], flags.last, flags["proto 6"], flags[eth.type])
  end
  print(ids[0x0800], ids[2.0], ids[0.5], ids[nil])
end)
