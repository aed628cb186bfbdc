-- Keeps HTTP requests for some paths to the networks that may make them, and counts requests by host, over IPv4 and IPv6.
--
-- A request that is refused is dropped, and so is each time that the client sends it again. What it cannot see passes: a request whose first line
-- is not whole in one segment or does not begin it, HTTP/2, and TLS. While it runs, `moonhook table http_paths hosts` shows the counts.
local xdp = require "xdp"
local action = require "linux.xdp"
local ip = require "ip"

-- Paths, with all that is below them.
local guarded = { "/admin", "/metrics" }

-- The networks by the lengths of their prefixes, for each version of IP.
local networks = { [4] = {}, [6] = {} }
for _, network in ipairs { "10.0.0.0/8", "198.51.100.0/24", "2001:db8:1::/48" } do
  local address, length = network:match "^(.*)/(%d+)$"
  local version = address:find(":", 1, true) and 6 or 4
  local list = networks[version]
  list[#list + 1] = { length = math.tointeger(length), prefix = ip.prefix(address, length) }
end

local hosts = map { key = "string:64", value = "int", capacity = 1000, evict = "lru" }

local function is_guarded(path)
  for _, prefix in ipairs(guarded) do
    local next = path:byte(#prefix + 1)
    -- The path itself, below it, or with a query.
    if path:sub(1, #prefix) == prefix and (not next or next == 47 or next == 63) then
      return true
    end
  end
  return false
end

local function may_ask(header)
  for _, network in ipairs(networks[header.version]) do
    if ip.prefix(header.src, network.length) == network.prefix then
      return true
    end
  end
  return false
end

xdp.attach(function(pkt)
  local http = pkt.http
  local path = http and http.path
  if not path then
    return action.PASS
  end
  local host = http.host
  if host and #host <= 64 then
    hosts[host] = (hosts[host] or 0) + 1
  end
  if is_guarded(path) and not may_ask(pkt.ip) then
    return action.DROP
  end
  return action.PASS
end)
