-- A cache of the words of a datagram that forgets the one used longest ago: drops where more were found there than not.
local xdp = require "xdp"
local action = require "linux.xdp"

local payload = 42
local cache = {}
cache.__index = cache

local function new(size)
  local head = {}
  head.after, head.before = head, head
  return setmetatable({ size = size, count = 0, nodes = {}, head = head, hits = 0, misses = 0 }, cache)
end

local function unlink(node)
  node.before.after, node.after.before = node.after, node.before
end

local function push(head, node)
  node.after, node.before = head.after, head
  head.after.before = node
  head.after = node
end

function cache:get(key)
  local node = self.nodes[key]
  if not node then
    self.misses = self.misses + 1
    return nil
  end
  self.hits = self.hits + 1
  unlink(node)
  push(self.head, node)
  return node.value
end

function cache:set(key, value)
  local node = self.nodes[key]
  if node then
    node.value = value
    return
  end
  if self.count == self.size then
    local last = self.head.before
    unlink(last)
    self.nodes[last.key] = nil
    self.count = self.count - 1
  end
  node = { key = key, value = value }
  push(self.head, node)
  self.nodes[key] = node
  self.count = self.count + 1
end

xdp.attach(function(pkt)
  local text, words = pkt:getstring(payload), new(16)
  local at = 1
  while true do
    local from, to = text:find("%w+", at)
    if not from then break end
    local word = text:sub(from, to)
    words:set(word, (words:get(word) or 0) + 1)
    at = to + 1
  end
  return words.hits > words.misses and action.DROP or action.PASS
end)
