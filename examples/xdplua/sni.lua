-- The Lua half of a filter of TLS by the name that clients send first: the verdict about a ClientHello. sni.bpf.c is the other half, which finds
-- them. Refused names are in a map, written from outside: keys are a name's length and its bytes, values how many hellos were dropped.
--
--   moonhook build --library sni.lua -o sni.bpf.o
--   clang -O2 -g -target bpf -include sni.h -D MOONHOOK_WITHOUT_KSYM -c sni.bpf.c -o program.bpf.o
--   bpftool gen object linked.bpf.o program.bpf.o sni.bpf.o
--   bpftool prog load linked.bpf.o /sys/fs/bpf/sni type xdp pinmaps /sys/fs/bpf/sni_maps
--   python3 names.py /sys/fs/bpf/sni_maps/sni__refused ads.example tracker.example
--   ip link set dev eth0 xdp pinned /sys/fs/bpf/sni
local xdp = require "xdp"
local action = require "linux.xdp"
local data = require "data"

local refused = map { key = "string:64", value = "int", capacity = 65536 }

-- RFC 8446 § 4.1.2 and § 4.2, RFC 6066 § 3. Offsets in a ClientHello are from the record's first byte on.
local record = data.layout { type = { 0, 8 }, message = { 40, 8 }, session = { 43 * 8, 8 } }
local length = data.layout { bytes = { 0, 16 } }
local byte = data.layout { bytes = { 0, 8 } }
local extension = data.layout { type = { 0, 16 }, length = { 16, 16 }, name = { 56, 16 } }

local HANDSHAKE <const>, HELLO <const>, SERVER_NAME <const>, MOST <const> = 22, 1, 0, 17

-- The argument is the offset of the payload, in two bytes, highest first.
xdp.attach(function(pkt, arg)
  local hello = pkt:segment(arg:getbyte(0) << 8 | arg:getbyte(1))
  if not hello then return action.PASS end
  hello:layout(record)
  if hello.type ~= HANDSHAKE or hello.message ~= HELLO or not hello.session then return action.PASS end

  -- Behind the session come ciphers, ways of compression, and the length of all extensions.
  local at = 44 + hello.session
  local ciphers = hello:segment(at)
  local skipped = ciphers and ciphers:layout(length).bytes
  if not skipped then return action.PASS end
  at = at + 2 + skipped
  local ways = hello:segment(at)
  local count = ways and ways:layout(byte).bytes
  if not count then return action.PASS end
  at = at + 3 + count

  for _ = 1, MOST do
    local found = hello:segment(at)
    local size = found and found:layout(extension).length
    if not size then return action.PASS end
    if found.type == SERVER_NAME then
      local bytes = found.name
      if not bytes or bytes > #found - 9 then return action.PASS end
      local name = found:getstring(9, bytes)
      if #name <= 64 and refused[name] then
        refused[name] = refused[name] + 1
        return action.DROP
      end
      return action.PASS
    end
    at = at + 4 + size
  end
  return action.PASS
end)
