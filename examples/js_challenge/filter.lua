-- Blocks clients on port 80 that go on without running the web server's challenge: a page whose script sets the cookie `__mh`.
--
--   sed s,FOLDER,/srv/web, nginx.conf >/etc/nginx/nginx.conf && nginx     # pages in /srv/web/www
--   moonhook run eth0 filter.lua                                          # its socket: /run/moonhook/filter.sock
--   python3 challenge.py 8081 /run/moonhook/filter.sock
--
-- The server gives each client a value and stores it here, in `cookies` (see challenge.py). From then on requests count that do
-- not carry it. A client with more than a few of them within a minute is blocked for a minute: its packets are dropped without a
-- look at what they hold. A few are allowed, for browsers ask for several things at once before they have the cookie.
--
-- What cannot be seen here is left to the server, which checks every cookie itself: requests whose header goes on in the next
-- segment, or whose cookie is split over two, and those behind the first in a segment. Clients behind one address are one client.
local xdp = require "xdp"
local action = require "linux.xdp"

local REQUESTS <const> = 8

local cookies = map { key = "ip", value = "string:32", capacity = 100000, evict = "lru", ttl = 3600 }
local strangers = map { key = "ip", value = "int", capacity = 100000, evict = "lru", ttl = 60 }
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
  -- The first requests go to the server, which answers with the challenge.
  if not expected then
    return action.PASS
  end
  local payload = pkt.payload
  -- Segments without the start of a request, such as acknowledgements, are no business of ours.
  if not payload or not payload:find "^[\r\n]*%u+ %S+ HTTP/1%.%d\r?\n" then
    return action.PASS
  end
  local given = payload:match "\n[Cc][Oo][Oo][Kk][Ii][Ee]:[^\n]-[ ;\t]__mh=(%w+)"
  if given == expected then
    return action.PASS
  end
  -- The cookie may be in the next segment.
  if not given and not payload:find "\n\r?\n" then
    return action.PASS
  end
  strangers[client] = (strangers[client] or 0) + 1
  if strangers[client] > REQUESTS then
    blocked[client], strangers[client] = true, nil
    return action.DROP
  end
  return action.PASS
end)
