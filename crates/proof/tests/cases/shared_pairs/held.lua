-- Entries that are held from one turn of a loop to the next, and looked up in loops of all kinds.
-- frames: tcp udp icmp tls tcp6 udp6 syn*3 tls icmp*2
local xdp = require "xdp"
local hosts, chain = {}, {}
for i = 1, 20 do chain[i] = { next = i * 3 % 23, n = 0 } end
xdp.attach(function(pkt)
  local key = #pkt
  local host = hosts[key]
  if host then
    host.pkts, host.bytes = host.pkts + 1, host.bytes + #pkt
  else
    hosts[key] = { pkts = 1, bytes = #pkt, marks = 0 }
  end

  local best
  for length, host in pairs(hosts) do
    if not best or host.bytes * 1000 + length > best.bytes * 1000 + 60 then best = host end
  end
  best.marks = best.marks + 1
  print(best.bytes > 0, best.marks > 0)

  local steps, entry = 0, chain[key % 20 + 1]
  while entry and steps < 30 do
    entry.n = entry.n + 1
    steps = steps + 1
    entry = chain[entry.next]
  end
  print(steps, entry and entry.n)

  local last, n = nil, 0
  for i = 1, 20 do
    local link = chain[i]
    if link.n % 2 == 1 then
      if last then n = n + last.n * 2 + link.n end
      last = link
    end
    repeat
      local other = chain[link.next]
      if other then n = n + other.n end
    until true
  end
  print(n, last and last.n)

  local most, of = -1, nil
  for i = 1, 5 do
    for length, host in pairs(hosts) do
      if host.pkts * i + length > most then most, of = host.pkts * i + length, host end
    end
    of.marks = of.marks + i
  end
  print(most, of.bytes)
end)
