-- `#` and `ipairs` of tables whose keys are integers.
-- frames: tcp udp icmp tls tcp6 udp6 arp tcp*70
local xdp = require "xdp"
local list, records, sparse, texts = {}, {}, { [0] = 1, [-1] = 2, [5] = 3 }, {}
xdp.attach(function(pkt)
  list[#list + 1] = #pkt
  records[#records + 1] = { length = #pkt, even = #pkt % 2 == 0 }
  sparse[-#list] = 1
  texts["n" .. #list] = #list
  local sum = 0
  for i, length in ipairs(list) do sum = sum + i * length end
  print(#list, sum, #sparse, #texts, list[#list])
  local n, last = 0, 0
  for i, record in ipairs(records) do
    if record.even then n = n + 1 end
    record.length = record.length + 1
    last = i
    if i == 20 then break end
  end
  print(n, last, records[1].length)
  if #list == 33 then list[33], list[32] = nil, nil end
  for i, v in ipairs(sparse) do print("never", i, v) end
end)
