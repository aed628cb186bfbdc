-- A handler as scripts for Lunatik have them: TLS ClientHellos that ask for a listed server name are dropped at XDP.
local xdp = require("xdp")
local action = require("linux.xdp")

local HANDSHAKE <const>, CLIENT_HELLO <const>, SERVER_NAME <const> = 22, 1, 0
local SESSION <const>, MOST <const> = 43, 17

local listed = { ["blocked.example.org"] = true, ["ads.example"] = true }

-- What reads bytes, integers of two bytes in network order, and texts behind an offset.
local function readers(packet, base)
  local function byte(at) return packet:getbyte(base + at) end
  local function short(at) return packet:getbyte(base + at) << 8 | packet:getbyte(base + at + 1) end
  local function text(at, length) return packet:getstring(base + at, length) end
  return byte, short, text
end

local function filter(packet)
  local network = 14 + (packet:getbyte(14) & 0x0f) * 4
  local byte, short, text = readers(packet, network + (packet:getbyte(network + 12) >> 4) * 4)
  if byte(0) ~= HANDSHAKE or byte(5) ~= CLIENT_HELLO then return action.PASS end
  local suites = SESSION + 1 + byte(SESSION)
  local compression = suites + 2 + short(suites)
  local extension = compression + 3 + byte(compression)
  for _ = 1, MOST do
    local content = extension + 4
    if short(extension) == SERVER_NAME then
      return listed[text(content + 5, short(content + 3))] and action.DROP or action.PASS
    end
    extension = content + short(extension + 2)
  end
  return action.PASS
end

xdp.attach(filter)
