-- Random patterns and subjects: the same results and errors from both libraries.

local real, ours, compare, count, seed = ...
math.randomseed(seed)
local random = math.random

local function pick(list)
  return list[random(#list)]
end

-- Small alphabets: subjects that match often, and characters that mean something in patterns.
local LETTERS = { "a", "b", "c", "1" }
local CHARACTERS = { "a", "b", "c", "0", "1", " ", "-", "]", "^", "%", "$", ".", "(", ")", "\0", "A", "_", "\200" }
local CLASSES = {
  "%a", "%d", "%s", "%w", "%x", "%l", "%u", "%p", "%c", "%g", "%A", "%C", "%D", "%G", "%L", "%P", "%S", "%U", "%W", "%X",
  "%z", "%Z", "%%", "%.", "%q", "%(", "%]",
}

local function character()
  return random() < 0.7 and pick(LETTERS) or pick(CHARACTERS)
end

local function set()
  local parts = { "[" }
  if random() < 0.3 then
    parts[2] = "^"
  end
  for _ = 1, random(0, 3) do
    local kind = random(5)
    if kind == 1 then
      parts[#parts + 1] = pick(CLASSES)
    elseif kind == 2 then
      parts[#parts + 1] = character() .. "-" .. character()
    elseif kind == 3 then
      parts[#parts + 1] = "a-c"
    else
      parts[#parts + 1] = character()
    end
  end
  if random() < 0.97 then
    parts[#parts + 1] = "]"
  end
  return table.concat(parts)
end

local function single()
  local kind = random(10)
  if kind <= 4 then
    return pick(LETTERS)
  elseif kind == 5 then
    return "."
  elseif kind == 6 then
    return character()
  elseif kind <= 8 then
    return pick(CLASSES)
  end
  return set()
end

local SUFFIXES = { "", "", "", "*", "+", "-", "?" }

local function item()
  local kind = random(20)
  if kind <= 11 then
    return single() .. pick(SUFFIXES)
  elseif kind <= 13 then
    return "("
  elseif kind <= 16 then
    return ")"
  elseif kind == 17 then
    return pick({ "()", "()", "%1", "%2", "%0", "%9" })
  elseif kind == 18 then
    return "%b" .. pick({ "ab", "()", "aa", "", "a" })
  elseif kind == 19 then
    return "%f" .. (random() < 0.9 and set() or character())
  end
  return pick({ "$", "%", "[", "(a*)", "(.-)%1", "^", "[]", "[^]" })
end

local function pattern()
  local parts = {}
  if random() < 0.1 then
    parts[1] = "^"
  end
  for _ = 1, random(0, 7) do
    parts[#parts + 1] = item()
  end
  if random() < 0.1 then
    parts[#parts + 1] = "$"
  end
  local text = table.concat(parts)
  if random() < 0.8 then
    -- Mostly with an end for every group.
    local _, opened = text:gsub("%(", "")
    local _, closed = text:gsub("%)", "")
    text = text .. (")"):rep(opened - closed)
  end
  return text
end

local function subject()
  local parts = {}
  for index = 1, random(0, random() < 0.1 and 60 or 16) do
    parts[index] = character()
  end
  return table.concat(parts)
end

local function replacement()
  local parts = {}
  for index = 1, random(0, 4) do
    parts[index] = pick({ "x", "yy", "%0", "%1", "%2", "%%", "%1", "abc", "%", "%z", "a long replacement" })
  end
  return table.concat(parts)
end

-- All that the iterator gives, as results.
local function collector(library)
  return function(...)
    local results = {}
    for first, second, third in library.gmatch(...) do
      table.move({ first, second or false, third or false }, 1, 3, #results + 1, results)
    end
    return table.unpack(results)
  end
end

local REPLACEMENTS = { a = "x", b = false, ab = "", ["1"] = 7, c = "cc", [1] = "one", [2] = {} }

local function replace(first, second)
  if first == "a" then
    return second or "A"
  elseif first == 2 then
    return {}
  elseif first == "ab" then
    return 12
  end
  return first == "b" and nil
end

local unfinished = 0

local function check(name, f, g, ...)
  ours.reset()
  if compare(name, f, g, ...) then
    unfinished = unfinished + 1
  end
end

local real_words, our_words = collector(real), collector(ours)
for case = 1, count do
  local s, p = subject(), pattern()
  local init, plain, most
  if random() < 0.3 then
    init = random(-20, 20)
    plain = random() < 0.3
  end
  if random() < 0.3 then
    most = random(-1, 4)
  end
  ours.keep_programs(case % 2 == 0)
  check("find", real.find, ours.find, s, p, init, plain)
  check("match", real.match, ours.match, s, p, init)
  check("gmatch", real_words, our_words, s, p, init)
  check("gsub", real.gsub, ours.gsub, s, p, replacement(), most)
  check("gsub", real.gsub, ours.gsub, s, p, REPLACEMENTS, most)
  check("gsub", real.gsub, ours.gsub, s, p, replace, most)
end
assert(unfinished <= 2 + count // 1000, "too many cases that came to the end of the budget")
