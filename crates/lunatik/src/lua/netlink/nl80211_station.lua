-- Stations of an access point: which there are, one more, one less, and whether they may send.
local object, message = require("netlink.nl80211.object"), require("netlink.message")
local constants = require("linux.nl80211")
local commands = constants.cmd

local station = object:new{
  GET = commands.GET_STATION,
  NEW = commands.NEW_STATION,
  SET = commands.SET_STATION,
  DEL = commands.DEL_STATION,
}

-- `nl80211_sta_flag_update` (include/uapi/linux/nl80211.h): which flags count, and those that are set.
local AUTHORIZED = 1 << constants.staflag.AUTHORIZED

function station:decode(given) return { mac = given[constants.attr.MAC] } end

-- Those of an interface.
function station:list(interface)
  return object.list(self, message.attrs{ [constants.attr.IFINDEX] = interface })
end

-- add{ifindex =, mac =, aid =, listen_interval =, supported_rates =}
function station:add(wanted)
  self:order(self.NEW, {
    IFINDEX = wanted.ifindex,
    MAC = wanted.mac,
    STA_AID = string.pack("=I2", wanted.aid),
    STA_LISTEN_INTERVAL = string.pack("=I2", wanted.listen_interval),
    STA_SUPPORTED_RATES = wanted.supported_rates,
  })
end

-- set{ifindex =, mac =, authorized =}
function station:set(wanted)
  local flags = string.pack("=I4I4", AUTHORIZED, wanted.authorized and AUTHORIZED or 0)
  self:order(self.SET, { IFINDEX = wanted.ifindex, MAC = wanted.mac, STA_FLAGS2 = flags })
end

-- del{ifindex =, mac =}
function station:del(wanted) self:order(self.DEL, { IFINDEX = wanted.ifindex, MAC = wanted.mac }) end

return station
