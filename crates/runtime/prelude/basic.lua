-- Basic functions that call metamethods.

function base.tostring(...)
  local value = ...
  if type(value) == "userdata" then
    return prim.object_text(value)
  end
  if prim.has_text_metamethods(value) then
    local convert = rawget(prim.raw_metatable(value), "__tostring")
    if convert ~= nil then
      local text = convert(value)
      if math.type(text) then
        return text
      end
      if type(text) ~= "string" then
        prim.raise("'__tostring' must return a string")
      end
      return text
    end
  end
  return prim.raw_tostring(...)
end

function base.print(...)
  local count = select("#", ...)
  if count == 1 then
    local value = ...
    prim.print(tostring(value))
    return
  end
  if count == 0 then
    prim.print("")
    return
  end
  local texts = { ... }
  for i = 1, count do
    texts[i] = tostring(texts[i])
  end
  prim.print(table.unpack(texts, 1, count))
end
