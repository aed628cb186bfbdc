-- Where things are in a packet that begins with its IPv4 header.
local offsets = { UDP = 17 }

function offsets.payload(packet)
  return (packet:getuint8(0) & 0x0f) * 4 + 8
end

return offsets
