-- The Lua half of the JavaScript challenge: whether a request has the cookie that its client was given. challenge.bpf.c is the other half, which
-- finds requests, calls `checkcookie`, and drops what comes from clients that go on without the cookie; server.py gives clients their values.
--
--   moonhook build --library challenge.lua -o challenge.bpf.o
--   clang -O2 -g -target bpf -c challenge.bpf.c -o program.bpf.o
--   bpftool gen object linked.bpf.o program.bpf.o challenge.bpf.o
--   bpftool prog load linked.bpf.o /sys/fs/bpf/challenge type xdp pinmaps /sys/fs/bpf/challenge_maps
--   ip link set dev eth0 xdp pinned /sys/fs/bpf/challenge
--   python3 server.py 80 /sys/fs/bpf/challenge_maps/challenge__cookies
local xdp = require "xdp"
local action = require "linux.xdp"

-- Values by client, its IPv4 address as a number; whoever serves the page writes them, from outside.
local cookies = map { key = "int", value = "int", capacity = 65536, evict = "lru" }

-- The payload of a segment from `at` on. What is no beginning of a request is no business of ours; what goes on in the next segment the server sees.
local function checkcookie(pkt, at, client)
  local expected = cookies[client]
  if not expected then return true end
  local request = pkt:getstring(at)
  if not request:find "^%u+ %S+ HTTP/1%.%d\r?\n" then return true end
  local given = request:match "\n[Cc][Oo][Oo][Kk][Ii][Ee]:[^\n]-[ ;\t]__xdp=(%d+)"
  if not given then return not request:find("\n\r?\n") end
  return tonumber(given) == expected
end

-- Without the C half: `moonhook run eth0 challenge.lua` drops the requests themselves.
xdp.attach(function(pkt, arg)
  local ip, tcp = pkt.ip, pkt.tcp
  if not tcp or ip.version ~= 4 or tcp.dport ~= 80 then return action.PASS end
  local at = arg:getbyte(0) << 8 | arg:getbyte(1)
  local client = pkt:getbyte(26) << 24 | pkt:getbyte(27) << 16 | pkt:getbyte(28) << 8 | pkt:getbyte(29)
  return checkcookie(pkt, at, client) and action.PASS or action.DROP
end)

return { checkcookie = checkcookie }
