-- expiring_set(action, parts, seconds): a set of addresses of IPv6: of sources (parts 1), destinations (2), or pairs (3). Action 0 looks
-- the packet's up, and gives whether they are in the set; action 1 adds them for so many seconds, or for ever (0), and gives whether they were
-- in it before. Gives 0 for packets that are none of IPv6. Where there is no room, those go that were not used for long.
local linux = require "linux"

local SOURCE <const>, DESTINATION <const>, BOTH <const> = 1, 2, 3
local ADD <const>, SECOND <const>, NEVER <const> = 1, 1000000000, 0
local members = map {
  key = { parts = "int", source = "ip", destination = "ip" },
  value = "int",
  capacity = 65536,
  evict = "lru",
}

return function(pkt, action, parts, seconds)
  local ip = pkt.ip
  if not ip or ip.version ~= 6 or parts < SOURCE or parts > BOTH then
    return 0
  end
  local now = linux.monotonic()
  local key = {
    parts = parts,
    source = parts & SOURCE ~= 0 and ip.src or "::",
    destination = parts & DESTINATION ~= 0 and ip.dst or "::",
  }
  local ends = members[key]
  if ends and ends ~= NEVER and ends <= now then
    members[key] = nil
    ends = nil
  end
  if action == ADD then
    seconds = seconds & 0xffffffff
    members[key] = seconds == 0 and NEVER or now + seconds * SECOND
  end
  return ends ~= nil
end
