-- set_field(offset, bits, value): writes the lowest bits of a value, 1 to 32 of them, over those from an offset in bits on, counted from the
-- frame's first one; in network order. No checksum or length is changed. Gives 1, or 0 where the frame does not have all of these bits,
-- which leaves it as it is.
local MOST_BITS <const>, MOST_OFFSET <const> = 32, 0x7fff
return function(pkt, offset, bits, value)
  local first = offset >> 3
  if bits < 1 or bits > MOST_BITS or first > MOST_OFFSET then
    return 0
  end
  local last = (offset + bits - 1) >> 3
  if last >= #pkt then
    return 0
  end
  local ones = (1 << bits) - 1
  value = value & ones
  for at = first, last do
    -- In this byte the field's last bit is that far on the left, or behind it on the right.
    local left = 8 * (at + 1) - (offset + bits)
    pkt:setbyte(at, pkt:getbyte(at) & ~(ones << left) | value << left)
  end
  return 1
end
