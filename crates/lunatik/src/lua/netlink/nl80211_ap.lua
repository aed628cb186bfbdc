-- Access points: their beacons begin and end.
local object, commands = require("netlink.nl80211.object"), require("linux.nl80211").cmd

local ap = object:new{ START = commands.START_AP, STOP = commands.STOP_AP }

-- start{ifindex =, freq = MHz, beacon_interval =, dtim =, ssid =, head =, tail =}: the beacon's bytes in front of the element TIM, and behind it.
function ap:start(wanted)
  self:order(self.START, {
    IFINDEX = wanted.ifindex,
    WIPHY_FREQ = wanted.freq,
    BEACON_INTERVAL = wanted.beacon_interval,
    DTIM_PERIOD = wanted.dtim,
    SSID = wanted.ssid,
    BEACON_HEAD = wanted.head,
    BEACON_TAIL = wanted.tail,
  })
end

-- stop{ifindex =}
function ap:stop(wanted) self:order(self.STOP, { IFINDEX = wanted.ifindex }) end

return ap
