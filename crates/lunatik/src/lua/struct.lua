-- Structures of the kernel as strings: of a layout {size =, fields = {{name =, offset =, size =, signed =}, …}}, in bytes, an object that packs
-- and unpacks them in the machine's byte order.
local methods = {}
methods.__index = methods

local function format_of(layout)
  local fields = table.move(layout.fields, 1, #layout.fields, 1, {})
  table.sort(fields, function(a, b) return a.offset < b.offset end)
  local parts, at = { "=" }, 0
  local function skip_to(offset)
    if offset > at then parts[#parts + 1] = string.rep("x", offset - at) end
  end
  for _, field in ipairs(fields) do
    skip_to(field.offset)
    parts[#parts + 1] = (field.signed and "i" or "I") .. field.size
    at = field.offset + field.size
  end
  skip_to(layout.size)
  return table.concat(parts)
end

function methods:pack(...) return string.pack(self.format, ...) end

function methods:unpack(bytes, position) return string.unpack(self.format, bytes, position) end

function methods:fieldsize(name)
  for _, field in ipairs(self.layout.fields) do
    if field.name == name then return field.size end
  end
end

return function(layout)
  local format = format_of(layout)
  if string.packsize(format) ~= layout.size then
    error("struct: derived format does not match the layout size (overlapping fields?)")
  end
  return setmetatable({ format = format, size = layout.size, layout = layout }, methods)
end
