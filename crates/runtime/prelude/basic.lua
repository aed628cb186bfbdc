-- Basic functions that call metamethods.

function base.tostring(...)
  if prim.plain_texts(...) then
    return prim.raw_tostring(...)
  end
  local value = ...
  if type(value) == "userdata" then
    return prim.object_text(value)
  end
  local convert = rawget(prim.raw_metatable(value), "__tostring")
  if convert == nil then
    return prim.raw_tostring(value)
  end
  local text = convert(value)
  if type(text) ~= "string" and not math.type(text) then
    prim.raise("'__tostring' must return a string")
  end
  return text
end

function base.print(...)
  if prim.plain_texts(...) then
    local mark = prim.memory_mark()
    prim.print(prim.to_texts(...))
    prim.release_memory(mark)
    return
  end
  local count = select("#", ...)
  local texts = { ... }
  for i = 1, count do
    texts[i] = tostring(texts[i])
  end
  prim.print(table.unpack(texts, 1, count))
end

function base.pairs(...)
  if select("#", ...) == 0 then
    prim.arg_error(1, "value expected")
  end
  local t = ...
  local meta = prim.raw_metatable(t)
  if meta then
    local pairs_of = rawget(meta, "__pairs")
    if pairs_of ~= nil then
      local step, state, start, closing = pairs_of(t)
      return step, state, start, closing
    end
  end
  return next, t, nil, nil
end

function base.ipairs(...)
  if select("#", ...) == 0 then
    prim.arg_error(1, "value expected")
  end
  local t = ...
  if type(t) == "table" and not prim.raw_metatable(t) then
    return prim.ipairs_step, t, 0
  end
  return function(object, i)
    i = i + 1
    local value = object[i]
    if value ~= nil then
      return i, value
    end
  end, t, 0
end
