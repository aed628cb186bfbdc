-- top_talkers(parts): counts packets and their bytes by the source address of IPv6 (parts 1), by the destination (2), or by both (3). Gives how many
-- packets there were of it, this one included; 0 for packets that are none of IPv6. Of 16,384 those go that were not seen for long, so that the
-- ones that send most stay. `moonhook table` shows them.
local SOURCE <const>, DESTINATION <const>, BOTH <const> = 1, 2, 3
local talkers = map {
  key = { parts = "int", source = "ip", destination = "ip" },
  value = { packets = "int", bytes = "int" },
  capacity = 16384,
  evict = "lru",
}

return function(pkt, parts)
  local ip = pkt.ip
  if not ip or ip.version ~= 6 or parts < SOURCE or parts > BOTH then
    return 0
  end
  local key = {
    parts = parts,
    source = parts & SOURCE ~= 0 and ip.src or "::",
    destination = parts & DESTINATION ~= 0 and ip.dst or "::",
  }
  local talker = talkers[key]
  if talker then
    talker.packets = talker.packets + 1
    talker.bytes = talker.bytes + #pkt
  else
    talkers[key] = { packets = 1, bytes = #pkt }
  end
  return talker and talker.packets or 1
end
