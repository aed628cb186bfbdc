-- Messages of netlink as strings (include/uapi/linux/netlink.h): headers in front of bytes, and attributes, which are tables from types to values.
local constants, struct = require("linux.netlink"), require("struct")
local header, attribute = struct(constants.layout.nlmsghdr), struct(constants.layout.nlattr)

local message = {}

-- Bytes up to where the next record may begin.
local function padding(length) return -length % constants.ALIGNTO end

-- Each record from a position on, behind a header of that kind: its type, its bytes, and what the header has next. The first one that is not whole ends it.
local function records(bytes, position, kind)
  return function()
    if position + kind.size - 1 > #bytes then return nil end
    local length, type, more = kind:unpack(bytes, position)
    local first, last = position + kind.size, position + length - 1
    if length < kind.size or last > #bytes then return nil end
    position = last + 1 + padding(length)
    return type, bytes:sub(first, last), more
  end
end

function message.encode(type, flags, number, payload)
  return header:pack(header.size + #payload, type, flags, number, 0) .. payload
end

-- A list of {type =, flags =, body =}.
function message.parse(bytes)
  local found = {}
  for type, body, flags in records(bytes, 1, header) do
    found[#found + 1] = { type = type, flags = flags, body = body }
  end
  return found
end

-- Attributes in a string, from a position on, as a table; or those of a table as a string, by their types. Numbers are of 32 bits.
function message.attrs(from, position)
  if type(from) == "string" then
    local found = {}
    for type, value in records(from, position or 1, attribute) do found[type] = value end
    return found
  end
  local types, parts = {}, {}
  for type in pairs(from) do types[#types + 1] = type end
  table.sort(types)
  for index, type in ipairs(types) do
    local value = from[type]
    if math.type(value) then value = string.pack("=I4", value) end
    local length = attribute.size + #value
    parts[index] = attribute:pack(length, type) .. value .. ("\0"):rep(padding(length))
  end
  return table.concat(parts)
end

-- An attribute's value as an integer of 32 bits, and as a string that ends with a zero. What is not there stays so.
function message.u32(value) return value and (string.unpack("=I4", value)) end

function message.str(value) return value and (string.unpack("z", value)) end

return message
