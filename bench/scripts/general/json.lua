-- Parses a datagram as JSON and drops it if its field "alarm" is true and it has a reading above 40.
local xdp = require "xdp"
local action = require "linux.xdp"

local payload = 42
local escapes = { ['"'] = '"', ["\\"] = "\\", ["/"] = "/", b = "\b", f = "\f", n = "\n", r = "\r", t = "\t" }
local words = { ["true"] = true, ["false"] = false }
local parse

local function fail(text, at, what)
  error(what .. " at byte " .. at .. " of " .. #text, 0)
end

local function skip(text, at)
  local byte = text:byte(at)
  while byte == 32 or byte == 10 or byte == 13 or byte == 9 do
    at = at + 1
    byte = text:byte(at)
  end
  return at
end

local function parse_string(text, at)
  local parts, from = nil, at + 1
  local i = from
  while true do
    local byte = text:byte(i)
    if byte == nil then
      fail(text, at, "unfinished string")
    elseif byte == 34 then
      local rest = text:sub(from, i - 1)
      if parts then rest = parts .. rest end
      return rest, i + 1
    elseif byte == 92 then
      local escaped = escapes[text:sub(i + 1, i + 1)]
      if not escaped then fail(text, i, "unknown escape") end
      parts = (parts or "") .. text:sub(from, i - 1) .. escaped
      i = i + 2
      from = i
    else
      i = i + 1
    end
  end
end

local function parse_number(text, at)
  local last = at
  local byte = text:byte(last + 1)
  while byte and byte >= 48 and byte <= 57 do
    last = last + 1
    byte = text:byte(last + 1)
  end
  return tonumber(text:sub(at, last)), last + 1
end

local function parse_word(text, at)
  local _, last = text:find("^%a+", at)
  local word = text:sub(at, last)
  if word == "null" then return nil, last + 1 end
  local value = words[word]
  if value == nil then fail(text, at, "unknown word") end
  return value, last + 1
end

local function parse_array(text, at)
  local list = {}
  at = skip(text, at + 1)
  if text:sub(at, at) == "]" then return list, at + 1 end
  while true do
    list[#list + 1], at = parse(text, at)
    at = skip(text, at)
    local c = text:sub(at, at)
    if c == "]" then return list, at + 1 end
    if c ~= "," then fail(text, at, "',' expected") end
    at = at + 1
  end
end

local function parse_object(text, at)
  local object = {}
  at = skip(text, at + 1)
  if text:sub(at, at) == "}" then return object, at + 1 end
  while true do
    local key
    at = skip(text, at)
    key, at = parse_string(text, at)
    at = skip(text, at)
    if text:sub(at, at) ~= ":" then fail(text, at, "':' expected") end
    object[key], at = parse(text, at + 1)
    at = skip(text, at)
    local c = text:sub(at, at)
    if c == "}" then return object, at + 1 end
    if c ~= "," then fail(text, at, "',' expected") end
    at = at + 1
  end
end

local parsers = { ["{"] = parse_object, ["["] = parse_array, ['"'] = parse_string, ["-"] = parse_number }
for digit = 0, 9 do
  parsers[tostring(digit)] = parse_number
end

function parse(text, at)
  at = skip(text, at)
  local parser = parsers[text:sub(at, at)] or parse_word
  return parser(text, at)
end

xdp.attach(function(pkt)
  local message = parse(pkt:getstring(payload), 1)
  if not message.alarm then return action.PASS end
  for _, reading in ipairs(message.readings) do
    if reading > 40 then return action.DROP end
  end
  return action.PASS
end)
