-- What the classes of nl80211 have in common. Each has its commands, GET, NEW and more, and `decode`, which makes a table of attributes.
local genl, message = require("netlink.genl"), require("netlink.message")
local attributes = require("linux.nl80211").attr

local object = genl:new{}

-- A session with the number of the family.
function object.__call(kind)
  local opened = genl.__call(kind)
  opened.id = opened:family("nl80211")
  return opened
end

-- All, or those that the attributes of a request say.
function object:list(payload)
  local found = {}
  for _, answer in ipairs(self:dump(self.id, self.GET, payload)) do
    if answer.cmd == self.NEW then found[#found + 1] = self:decode(answer.attrs) end
  end
  return found
end

-- Has a command done, with attributes by their names.
function object:order(command, wanted)
  local given = {}
  for name, value in pairs(wanted) do given[attributes[name]] = value end
  return self:call(self.id, command, 0, message.attrs(given))
end

return object
