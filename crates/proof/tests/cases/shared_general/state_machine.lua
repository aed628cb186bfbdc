-- What `a and b` gives is never the table `a`: the states are strings. What it gives of a condition may be false.
-- frames: tcp tcp:x tcp6 tcp tcp-options udp:abc
local xdp = require "xdp"
local state, last, wanted = {}, {}, {}
local transitions = { SYN = { ack = "EST" }, EST = { fin = "SYN" } }
xdp.attach(function(pkt)
  local tcp = pkt.tcp
  if not tcp then return end
  local id = table.concat({ pkt.ip.src, tcp.sport }, " ")
  local old = state[id]
  local new
  if old then new = transitions[old] and transitions[old][tcp.fin and "fin" or "ack"] elseif tcp.syn then new = "SYN" end
  state[id] = new
  print(id, new, state[id])
  local list = transitions[old or ""]
  last[id] = list and list.ack
  wanted[id] = tcp.dport and (tcp.dport > 80) or false
  print(last[id], wanted[id])
end)
