-- Lets only clients on port 80 that have run the web server's challenge: a page whose script sets the cookie `__mh`.
--
-- The server gives each client a value and stores it here, in `cookies` (see challenge.py). From then on the client's
-- requests must carry that value. A client whose request does not is blocked for a minute: its packets are dropped without
-- a look at what they hold.
local xdp = require "xdp"
local action = require "linux.xdp"

local cookies = map { key = "ip", value = "string:32", capacity = 100000, evict = "lru", ttl = 3600 }
local blocked = map { key = "ip", value = "boolean", capacity = 100000, evict = "lru", ttl = 60 }

xdp.attach(function(pkt)
  local tcp = pkt.tcp
  if not tcp or tcp.dport ~= 80 then
    return action.PASS
  end
  local client = pkt.ip.src
  if blocked[client] then
    return action.DROP
  end
  local expected = cookies[client]
  -- The first request goes to the server, which answers with the challenge.
  if not expected then
    return action.PASS
  end
  local payload = pkt.payload
  -- Segments without the start of a request, such as acknowledgements, are no business of ours.
  if not payload or not payload:find "^%u+ /%S* HTTP/1%.%d\r\n" then
    return action.PASS
  end
  if payload:match "\r\n[Cc]ookie: [^\r]*__mh=(%w+)" == expected then
    return action.PASS
  end
  blocked[client] = true
  return action.DROP
end)
