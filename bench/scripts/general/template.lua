-- Renders a template with what it finds in a datagram, and drops it if the text is as long as one of the kind that is not wanted.
local xdp = require "xdp"
local action = require "linux.xdp"

local template = "from {source} port {port} to {target}: {length} bytes{note}{unknown}"

local function two_bytes(pkt, at)
  return pkt:getuint8(at) * 256 + pkt:getuint8(at + 1)
end

local function address(pkt, at)
  local parts = {}
  for i = 0, 3 do
    parts[i + 1] = pkt:getuint8(at + i)
  end
  return table.concat(parts, ".")
end

local function render(text, values)
  return (text:gsub("{(%w+)}", function(name)
    local value = values[name]
    if value == nil then return "" end
    return tostring(value)
  end))
end

xdp.attach(function(pkt)
  local text = render(template, {
    source = address(pkt, 26),
    target = address(pkt, 30),
    port = two_bytes(pkt, 36),
    length = two_bytes(pkt, 38),
    note = two_bytes(pkt, 36) == 5060 and " (sip)" or nil,
  })
  return text:sub(-5) == "(sip)" and action.DROP or action.PASS
end)
