-- A filter by server name in the style of Lunatik's examples: a set built in a loop, a function that returns three accessor
-- closures for a base offset, and `select` to take one of them where only that one is wanted.
-- frames: tls sni:blocked.example sni:also.blocked.example sni:fine.example tls-without-name tcp udp vlan-tls
-- frames: truncated:sni:blocked.example
local xdp = require "xdp"
local action = require "linux.xdp"

local function set(list)
  local members = {}
  for _, name in ipairs(list) do members[name] = true end
  return members
end

local blocked = set { "blocked.example", "also.blocked.example", "www.example.org" }

local function unpacker(packet, base)
  local byte = function(offset) return packet:getbyte(base + offset) end
  local short = function(offset) return packet:getbyte(base + offset) << 8 | packet:getbyte(base + offset + 1) end
  local text = function(offset, length) return packet:getstring(base + offset, length) end
  return byte, short, text
end

local handshake <const>, hello <const>, server_name <const> = 22, 1, 0
local session <const>, longest <const> = 43, 17

xdp.attach(function(packet, argument)
  local offset = select(2, unpacker(argument, 0))(0)
  if not packet.tcp or #packet < offset + session + 1 then return action.PASS end
  local byte, short, text = unpacker(packet, offset)
  if byte(0) ~= handshake or byte(5) ~= hello then return action.PASS end

  local cipher = session + 1 + byte(session)
  local compression = cipher + 2 + short(cipher)
  local extension = compression + 1 + byte(compression) + 2
  for _ = 1, longest do
    if #packet < offset + extension + 4 then break end
    if short(extension) == server_name then
      local length = short(extension + 7)
      local name = text(extension + 9, length)
      if blocked[name] then
        print("blocked", name)
        return action.DROP
      end
      break
    end
    extension = extension + 4 + short(extension + 2)
  end
  return action.PASS
end)
