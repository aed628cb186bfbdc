-- Functions of the mathematical library that may call metamethods.

-- The primitive compares integers; it has no result where there is something else.
function math.max(...)
  local best = prim.math_max(...)
  if best then
    return best
  end
  best = ...
  for i = 2, select("#", ...) do
    local value = select(i, ...)
    if best < value then
      best = value
    end
  end
  return best
end

function math.min(...)
  local best = prim.math_min(...)
  if best then
    return best
  end
  best = ...
  for i = 2, select("#", ...) do
    local value = select(i, ...)
    if value < best then
      best = value
    end
  end
  return best
end
