-- Basic functions that call metamethods, and what there is of the collector.

-- Further arguments do not matter, but none is an error.
function base.tostring(...)
  if prim.plain_texts((...)) then
    return prim.raw_tostring(...)
  end
  local text = prim.to_text((...))
  return text
end

-- The text of a value, with what its metatable says.
function prim.to_text(value)
  if prim.plain_texts(value) then
    return prim.raw_tostring(value)
  end
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
  return prim.raw_tostring(text)
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
    texts[i] = prim.to_text(texts[i])
  end
  prim.print(table.unpack(texts, 1, count))
end

-- What the script's `collectgarbage` has checked. Nothing is ever collected: what counts is the packet memory that the handler has used,
-- in KiB.
function base.collectgarbage(option)
  if option == "count" then
    return (prim.memory_used() + 1023) // 1024
  elseif option == "step" then
    return true
  elseif option == "param" then
    return nil
  end
  return 0
end
