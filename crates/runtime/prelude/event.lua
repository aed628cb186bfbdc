-- Events. What is sent is a list: the name and the values. A record in it is the list of its names, then name and value of each
-- field.

-- No event has room for more values: further ones are looked at, but not sent.
local LIMIT <const> = 1000
-- How deep tables are nested at most.
local NESTED <const> = 8

function base.event(...)
  local name = ...
  if not prim.any_table(...) or type(name) ~= "string" and type(name) ~= "number" then
    prim.event(...)
    return
  end
  local mark = prim.memory_mark()
  local values = { ... }
  local list = { name }
  local count = 1
  for i = 2, select("#", ...) do
    local value = values[i]
    count = prim.add_to_event(list, count, value, NESTED)
    if not count then
      prim.bad_type(i, "number, string, boolean, nil or record of those", value)
    end
  end
  prim.event(table.unpack(list, 1, count))
  prim.release_memory(mark)
end

-- Appends a value, with tables nested so deep at most, to a list of `count` values. Gives how many there are then; nil for what
-- events do not carry.
function prim.add_to_event(list, count, value, nested)
  local kind = type(value)
  if kind == "table" then
    if nested == 0 then
      return nil
    end
    return prim.add_record(list, count, value, nested - 1)
  end
  if kind == "string" or kind == "boolean" or kind == "nil" or kind == "number" then
    return prim.append(list, count, value)
  end
  return nil
end

function prim.append(list, count, value)
  if count == LIMIT then
    return count
  end
  list[count + 1] = value
  return count + 1
end

function prim.add_record(list, count, record, nested)
  local names = {}
  local fields = 0
  local known = prim.entry_names(record)
  if known then
    -- An entry of a shared table has the fields of its type, if they are there.
    for i = 1, #known do
      if rawget(record, known[i]) ~= nil then
        fields = fields + 1
        names[fields] = known[i]
      end
    end
  elseif known == nil then
    for name in next, record do
      if type(name) ~= "string" then
        return nil
      end
      fields = fields + 1
      names[fields] = name
    end
  else
    return nil
  end
  if fields > 1 then
    table.sort(names)
  end
  count = prim.append(list, count, names)
  for i = 1, fields do
    local name = names[i]
    count = prim.append(list, count, name)
    count = prim.add_to_event(list, count, rawget(record, name), nested)
    if not count then
      return nil
    end
  end
  return count
end
