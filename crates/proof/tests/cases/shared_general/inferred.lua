-- Tables that only code behind the first construct without expanded form uses: their types follow from the bytecode.
-- frames: tcp udp tcp udp6 syn tcp
local xdp = require "xdp"
local hits, ports, names, flows, words, last = {}, {}, {}, {}, {}, {}
local flags, sizes, copies, by_word = {}, {}, {}, {}
local function port(p)
  local t = p.tcp or p.udp
  return t and t.dport
end
local function count(t, key, by)
  t[key] = (t[key] or 0) + by
end
xdp.attach(function(pkt)
  print(pcall(error, "x"))
  local i = pkt:getbyte(14)
  hits[i] = (hits[i] or 0) + 1
  local from = pkt.ip and pkt.ip.src or "none"
  names[from] = pkt.eth.src
  ports[port(pkt) or 0] = from .. "!"
  count(sizes, #pkt, 2)
  flags[from] = pkt.tcp and pkt.tcp.syn or false
  flows[from] = flows[from] or { n = 0, ttl = pkt.ip and pkt.ip.ttl or 0 }
  flows[from].n = flows[from].n + 1
  for word in (pkt.payload or ""):gmatch("%a+") do by_word[word] = #word end
  local ok, three = pcall(pkt.getstring, pkt, 42, 3)
  if ok then words[three] = (words[three] or 0) + 1 end
  local text
  if i > 5 then text = ("%d"):format(i) else text = tostring(i) end
  last[text] = i
  copies[text] = last[text]
  print(hits[i], names[from], ports[port(pkt) or 0], sizes[#pkt], flags[from], flows[from].n, flows[from].ttl)
  print(by_word.hello, ok and words[three], last[text], copies[text])
end)
