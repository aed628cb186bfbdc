-- What chains in Lua use: C's arithmetic of 64 bits, and what functions in Lua give to chains.
local kind, type, error = math.type, type, error

local function shifted(a, by) return a >> by | -(a >> 63) << 64 - by end

local function below(a, b) return a ~ 0x8000000000000000 < b ~ 0x8000000000000000 end

local function divided(a, b)
  if b == 0 then return 0 end
  if b < 0 then return below(a, b) and 0 or 1 end
  if a >= 0 then return a // b end
  local half = (a >> 1) // b << 1
  return below(a - half * b, b) and half or half + 1
end

local function rest(a, b) return a - divided(a, b) * b end

local function divided_signed(a, b)
  if b == 0 then return 0 end
  if b == -1 then return -a end
  local down = a // b
  if down < 0 and down * b ~= a then return down + 1 end
  return down
end

local function rest_signed(a, b) return a - divided_signed(a, b) * b end

-- What a chain gets of a function's results: the integer, a verdict if there is one, and what is wrong with them, which the chain raises where it calls the function.
local function given(name, value, verdict)
  local of = "the function '" .. name .. "' gives a chain a "
  if verdict ~= nil then
    if kind(verdict) == "integer" then return 0, verdict end
    return 0, nil, of .. type(verdict) .. " value, expected a verdict"
  end
  if kind(value) == "integer" then return value end
  if value == nil or value == false then return 0 end
  if value == true then return 1 end
  return 0, nil, of .. type(value) .. " value, expected an integer"
end
