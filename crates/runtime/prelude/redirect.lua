-- Sending packets elsewhere. What is no table is the business of the primitive `redirect`; of a table the fields are read here, and the
-- primitives say what is wrong with their values.

-- The text of a list of interfaces: of names the length and the name, of numbers a sign and the number. Empty for what is no such list.
function prim.group_text(list)
  if type(list) ~= "table" then
    return ""
  end
  local text = ""
  for i = 1, rawlen(list) do
    local interface = rawget(list, i)
    if math.type(interface) == "integer" then
      if interface < 1 or interface > 0x7fffffff then
        return ""
      end
      text = text .. "#" .. interface .. ":"
    elseif type(interface) == "string" then
      text = text .. #interface .. ":" .. interface
    else
      return ""
    end
  end
  return text
end

-- Whether a table has one of the fields `cpu`, `group` and `socket`, `queue` only beside `cpu`, and no others.
function prim.is_target(to)
  local targets, queue, is_cpu = 0, false, false
  local known = prim.entry_names(to)
  if known then
    for i = 1, #known do
      local name = known[i]
      if rawget(to, name) ~= nil then
        if name == "queue" then
          queue = true
        elseif name == "cpu" then
          targets, is_cpu = targets + 1, true
        elseif name == "socket" then
          targets = targets + 1
        else
          return false
        end
      end
    end
    return targets == 1 and (is_cpu or not queue)
  elseif known ~= nil then
    return false
  end
  for name in next, to do
    if name == "queue" then
      queue = true
    elseif name == "cpu" then
      targets, is_cpu = targets + 1, true
    elseif name == "group" or name == "socket" then
      targets = targets + 1
    else
      return false
    end
  end
  return targets == 1 and (is_cpu or not queue)
end


function base.redirect(...)
  local to = ...
  if type(to) ~= "table" then
    local verdict = prim.redirect(...)
    return verdict
  end
  if not prim.is_target(to) then
    prim.raise("bad target (one of 'cpu', 'group' and 'socket' expected)")
  end
  local mark = prim.memory_mark()
  local verdict
  local cpu, queue = rawget(to, "cpu"), rawget(to, "queue")
  if cpu ~= nil then
    if math.type(cpu) ~= "integer" then
      cpu = -1
    end
    if queue == nil then
      queue = 2048
    elseif math.type(queue) ~= "integer" then
      queue = 0
    end
    verdict = prim.to_cpu(cpu, queue)
  elseif rawget(to, "group") ~= nil then
    verdict = prim.to_group(prim.group_text(rawget(to, "group")))
  else
    local socket = rawget(to, "socket")
    if math.type(socket) ~= "integer" then
      socket = -1
    end
    verdict = prim.to_socket(socket)
  end
  prim.release_memory(mark)
  return verdict
end
