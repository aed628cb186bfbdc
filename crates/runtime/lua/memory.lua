-- Packet memory, and the steps that loops may take.

-- Address of `bytes` bytes of packet memory, a multiple of 8; 0 after an error. What is there is left over from earlier
-- packets.
function inline.alloc(L, bytes)
  local address = u64(L + L_HEAP)
  local free = u64(L + L_HEAP_END) - address
  local size = (bytes + 7) & ~7
  -- Unsigned: a negative number of bytes is too many as well. The rounding of the largest numbers gives 0.
  if ult(free, size) or ult(size, bytes) then
    inline.throw_text(L, "not enough memory")
    return 0
  end
  set64(L + L_HEAP, address + size)
  return address
end

-- The same, for callers outside of these files.
function alloc(L, bytes)
  return inline.alloc(L, bytes)
end

-- Takes a step of the packet's budget; not 0 after the error that there is none left.
function inline.spend(L)
  local left = u64(L + L_BUDGET) - 1
  set64(L + L_BUDGET, left)
  if left < 0 then
    return inline.throw_text(L, "step budget exhausted")
  end
  return 0
end
