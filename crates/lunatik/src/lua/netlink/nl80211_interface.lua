-- Wireless interfaces: which there are, one more, one less.
local object, message = require("netlink.nl80211.object"), require("netlink.message")
local constants = require("linux.nl80211")
local commands, attributes = constants.cmd, constants.attr

local interface = object:new{
  GET = commands.GET_INTERFACE,
  NEW = commands.NEW_INTERFACE,
  DEL = commands.DEL_INTERFACE,
}

-- The address is six bytes.
function interface:decode(given)
  return {
    ifindex = message.u32(given[attributes.IFINDEX]),
    name = message.str(given[attributes.IFNAME]),
    wiphy = message.u32(given[attributes.WIPHY]),
    iftype = message.u32(given[attributes.IFTYPE]),
    mac = given[attributes.MAC],
  }
end

-- add{wiphy =, name =, iftype =}: the new one's number.
function interface:add(wanted)
  local request = { WIPHY = wanted.wiphy, IFNAME = wanted.name .. "\0", IFTYPE = wanted.iftype }
  for _, answer in ipairs(self:order(self.NEW, request)) do
    local number = message.u32(answer.attrs[attributes.IFINDEX])
    if number then return number end
  end
end

-- del{ifindex =}
function interface:del(wanted) self:order(self.DEL, { IFINDEX = wanted.ifindex }) end

return interface
