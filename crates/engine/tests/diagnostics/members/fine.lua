-- What the script tests, assigns or may not know is not warned of, nor are its own tables and global variables.
local action, linux = require "linux.xdp", require "linux"
local config = { limit = 5 }
string.added = 7
setmetatable(utf8, { __index = function() return 1 end })
require("xdp").attach(function(pkt)
  if linux.precise_time then return linux.precise_time end
  local send = action.SEND or action.TX
  if linux.random_bytes ~= nil then return linux.random_bytes end
  if #pkt > (config.most or 3) and verdict == config.verdict then return action.DROP end
  if utf8.length == string.added then return not action.MAYBE and 1 end
  return action.PASS
end)
