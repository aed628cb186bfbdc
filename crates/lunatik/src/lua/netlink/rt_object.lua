-- What the classes of rtnetlink(7) have in common. Each has `codec`, its structure in front of attributes; the types of its messages, GET, NEW and more;
-- and `decode`, which makes a table of a message's bytes.
local session = require("netlink.session")
local constants, routes = require("linux.netlink"), require("linux.rtnetlink")

local object = session:new{ proto = constants.proto.ROUTE, __call = session.__call }

-- The structure of a request for all, of a family or of any.
function object:header(family)
  local values = {}
  for index in ipairs(self.codec.layout.fields) do values[index] = 0 end
  values[1] = family or values[1]
  return self.codec:pack(table.unpack(values))
end

function object:list(family)
  local found = {}
  for _, answer in ipairs(self:dump(self.GET, self:header(family))) do
    if answer.type == self.NEW then found[#found + 1] = self:decode(answer.body) end
  end
  return found
end

-- The number of a routing table stands in the structure if its field is large enough for that, and else in an attribute.
function object.tablemax(codec, field) return (1 << 8 * codec:fieldsize(field)) - 1 end

function object:headertable(number) return number > self.TABLE_MAX and routes.table.UNSPEC or number end

function object:attrtable(number)
  if number and number > self.TABLE_MAX then return number end
end

return object
