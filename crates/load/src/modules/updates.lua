-- The handler that stands in front of a script's own: it takes datagrams for one port away, and has those that may be updates sent to
-- control code by `event`. What becomes of datagrams is counted in the table `updates`: no kind of them by both handlers and control
-- code, whose additions are not atomic.
local map, event, monotonic = ...

local SECOND <const> = 1000000000
-- "MHUP", and the bytes that an update has without names and text.
local M <const>, H <const>, U <const>, P <const>, LEAST <const> = 77, 72, 85, 80, 94

local function prefixes(list)
  if not list then return nil end
  local v4 = map { key = "ipv4", value = "boolean", lpm = true, capacity = #list }
  local v6 = map { key = "ipv6", value = "boolean", lpm = true, capacity = #list }
  for i = 1, #list do
    local prefix = list[i]
    local family = prefix:find(":", 1, true) and v6 or v4
    family[prefix] = true
  end
  return v4, v6
end

return function(options, take)
  local port <const>, most <const>, rate <const>, total <const> = options.port, options.most, options.rate, options.total
  local updates = map { key = "string:12", value = "int", capacity = 32 }
  local update_senders = map { key = "ip", value = { since = "int", left = "int" }, capacity = 4096, evict = "lru" }
  local all_senders = { since = 0, left = 0 }
  local update_sources_v4, update_sources_v6 = prefixes(options.sources)
  local update_addresses_v4, update_addresses_v6 = prefixes(options.addresses)

  local function count(what)
    updates[what] = (updates[what] or 0) + 1
  end

  local function is_too_frequent(source)
    local now, sender = monotonic(), update_senders[source]
    if not sender or now - sender.since >= SECOND then
      update_senders[source] = { since = now, left = rate - 1 }
    elseif sender.left <= 0 then
      return true
    else
      sender.left = sender.left - 1
    end
    if now - all_senders.since >= SECOND then
      all_senders.since = now
      all_senders.left = total
    end
    all_senders.left = all_senders.left - 1
    return all_senders.left < 0
  end

  local function handler(drop)
    return function(pkt)
      local udp = pkt.udp
      if not udp or udp.dport ~= port then return end
      local ip, payload = pkt.ip, pkt.payload
      local is_v4 = ip.version == 4
      if update_addresses_v4 then
        local is_here
        if is_v4 then is_here = update_addresses_v4[ip.dst] else is_here = update_addresses_v6[ip.dst] end
        if not is_here then return end
      end
      if update_sources_v4 then
        local is_known
        if is_v4 then is_known = update_sources_v4[ip.src] else is_known = update_sources_v6[ip.src] end
        if not is_known then
          count "source"
          return drop
        end
      end
      if #payload > most or #payload < LEAST or payload:byte(1) ~= M or payload:byte(2) ~= H or payload:byte(3) ~= U
        or payload:byte(4) ~= P then
        count "other"
      elseif is_too_frequent(ip.src) then
        count "frequent"
      else
        event(options.event, payload)
      end
      return drop
    end
  end

  local function receive(payload)
    local what, problem = take(payload)
    if what then count(what) end
    if problem then error(problem, 0) end
  end
  return handler, receive, updates
end
