-- Fields of objects of `data` by layouts, as in luadata: what `__index` and `__newindex` do. Nothing here raises an error.
--
-- Reads `lib` (the standard library) and `layouts` (what is made of layouts.lua); gives what makes them of `access`, functions that read and write bits
-- and texts of objects.

local lib, layouts = ...
local setmetatable, tostring, type, tointeger = lib.setmetatable, lib.tostring, lib.type, lib.math.tointeger
local entry_of = layouts.entry_of

return function(access)
  local read, write, text, put = access.read, access.write, access.text, access.put

  -- The layout of each object; states that share one have layouts of their own.
  local layout_of = setmetatable({}, { __mode = "k" })

  local M = { layout_from = layouts.layout_from }

  function M.set_layout(object, layout)
    layout_of[object] = layout
  end

  -- Fields go before methods, but for those that luadata has.
  function M.index(methods)
    return function(object, name)
      local layout = layout_of[object]
      if not layout or name == "layout" or name == "segment" then return methods[name] end
      local entry = entry_of(layout, name)
      if not entry then return methods[name] end
      if entry.text then return text(object, entry.offset, entry.length) end
      return read(object, entry.offset, entry.length, entry.little)
    end
  end

  function M.newindex(object, name, value)
    if name == "layout" or name == "segment" then return end
    local entry = entry_of(layout_of[object], name)
    if not entry then return end
    if not entry.text then
      return write(object, entry.offset, entry.length, entry.little, tointeger(value) or 0)
    end
    if type(value) == "number" then value = tostring(value) end
    if type(value) == "string" then put(object, entry.offset, entry.length, value) end
  end

  return M
end
