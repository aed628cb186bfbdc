-- Structures of the kernel as strings: of a layout {size =, fields = {{name =, offset =, size =, signed =}, …}}, in bytes, an object that packs
-- and unpacks them in the machine's byte order. Its `format` is that of `string.pack` (Lua manual § 6.5.2).

-- The layout byte by byte: what begins there, a field or, where it has none, one byte of padding.
local function codes(layout)
  local begins = {}
  for _, field in ipairs(layout.fields) do
    if begins[field.offset] then error("struct: two fields begin at byte " .. field.offset, 3) end
    begins[field.offset] = field
  end
  local found, byte = {}, 0
  while byte < layout.size do
    local field = begins[byte]
    if field then
      found[#found + 1] = (field.signed and "i%d" or "I%d"):format(field.size)
      begins[byte], byte = nil, byte + field.size
    else
      found[#found + 1], byte = "x", byte + 1
    end
  end
  if byte > layout.size or next(begins) then error("struct: fields overlap, or go beyond the layout's size", 3) end
  return found
end

-- Each structure has functions of its own, which know its format.
return function(layout)
  local format, sizes = "=" .. table.concat(codes(layout)), {}
  for _, field in ipairs(layout.fields) do sizes[field.name] = field.size end
  return {
    format = format,
    layout = layout,
    size = layout.size,
    pack = function(_, ...) return format:pack(...) end,
    unpack = function(_, bytes, at) return format:unpack(bytes, at) end,
    fieldsize = function(_, name) return sizes[name] end,
  }
end
