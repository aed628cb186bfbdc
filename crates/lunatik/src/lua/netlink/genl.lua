-- Generic netlink (include/uapi/linux/genetlink.h): families by name, and their commands. Answers are lists of {cmd =, attrs =}.
local session, message, struct = require("netlink.session"), require("netlink.message"), require("struct")
local constants, controller = require("linux.netlink"), require("linux.genl")
local header = struct(controller.layout.genlmsghdr)

-- Of requests; the kernel does not look at it.
local VERSION = 1

local genl = session:new{ proto = constants.proto.GENERIC, __call = session.__call }

local function command(number, payload) return header:pack(number, VERSION, 0) .. (payload or "") end

-- Messages of netlink itself, which no family has.
local is_own = {}
for _, name in ipairs{ "NOOP", "ERROR", "DONE", "OVERRUN" } do is_own[constants.type[name]] = true end

local function of_family(answers)
  local found = {}
  for _, answer in ipairs(answers) do
    if not is_own[answer.type] and #answer.body >= header.size then
      local number = header:unpack(answer.body)
      found[#found + 1] = { cmd = number, attrs = message.attrs(answer.body, header.size + 1) }
    end
  end
  return found
end

function genl:call(family, number, flags, payload)
  return of_family(self:talk(family, flags, command(number, payload)))
end

function genl:dump(family, number, payload)
  return of_family(session.dump(self, family, command(number, payload)))
end

-- The number of a family.
function genl:family(name)
  local wanted = message.attrs{ [controller.attr.FAMILY_NAME] = name .. "\0" }
  for _, answer in ipairs(self:call(controller.id.CTRL, controller.cmd.GETFAMILY, nil, wanted)) do
    local number = answer.attrs[controller.attr.FAMILY_ID]
    if number then return (string.unpack("=I2", number)) end
  end
  error("genl family not found: " .. name)
end

return genl
