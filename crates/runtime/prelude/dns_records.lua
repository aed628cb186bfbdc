-- Methods of DNS messages that give iterators over records.

-- A record and those behind it, one a call.
function prim.dns_records(message, section)
  local start, count = prim.dns_section(message, section)
  -- Variables of their own: of a register that a function inside assigns, not even `prim` is known.
  local position, left = start, count
  return function()
    if left <= 0 then
      return nil
    end
    local behind, name, kind, class, ttl = prim.dns_record(message, position)
    if not behind then
      return nil
    end
    local data, address, target, preference = prim.dns_data(message, position)
    position, left = behind, left - 1
    return {
      name = name, type = kind, class = class, ttl = ttl, data = data,
      address = address, target = target, preference = preference,
    }
  end
end

function dns_message.answers(...)
  local message = ...
  return prim.dns_records(message, 1)
end

function dns_message.authorities(...)
  local message = ...
  return prim.dns_records(message, 2)
end

function dns_message.additionals(...)
  local message = ...
  return prim.dns_records(message, 3)
end
