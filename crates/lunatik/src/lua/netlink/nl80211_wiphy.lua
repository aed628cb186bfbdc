-- Radios: {wiphy =, name =}.
local object, message = require("netlink.nl80211.object"), require("netlink.message")
local constants = require("linux.nl80211")

local wiphy = object:new{ GET = constants.cmd.GET_WIPHY, NEW = constants.cmd.NEW_WIPHY }

-- What there is of a radio comes in several messages, one of which has its name.
function wiphy:list()
  local found, by_number = {}, {}
  for _, answer in ipairs(self:dump(self.id, self.GET)) do
    local number = message.u32(answer.attrs[constants.attr.WIPHY])
    if number then
      local radio = by_number[number]
      if not radio then
        radio = { wiphy = number }
        by_number[number], found[#found + 1] = radio, radio
      end
      radio.name = radio.name or message.str(answer.attrs[constants.attr.WIPHY_NAME])
    end
  end
  return found
end

return wiphy
