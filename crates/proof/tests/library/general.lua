-- The same, and functions that have no expanded form.
local M = require "functions"

function M.caught(pkt, a)
  local ok, message = pcall(M.fails, pkt, a)
  return ok and message or #message:match("odd.*")
end

local function depth(n)
  if n <= 0 then return 0 end
  return 1 + depth(n - 1)
end

function M.nested(pkt, a) return depth(a & 15) end

return M
