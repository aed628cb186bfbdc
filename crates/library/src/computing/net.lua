-- Addresses of IPv4 as integers, and as text.
local net = {}

function net.aton(text)
  local address, shift = 0, 24
  for part in string.gmatch(text, "%d+") do
    address, shift = address | (tonumber(part) & 0xff) << shift, shift - 8
  end
  return address
end

function net.ntoa(address)
  return string.format("%d.%d.%d.%d", address >> 24 & 255, address >> 16 & 255, address >> 8 & 255, address & 255)
end

return net
