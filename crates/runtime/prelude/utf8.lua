-- Functions of the UTF-8 library that give functions.

function utf8.codes(...)
  prim.utf8_codes_check(...)
  local s, lax = ...
  if lax then
    return function(text, position)
      return prim.utf8_codes_next(text, position, true)
    end, s, 0
  end
  return function(text, position)
    return prim.utf8_codes_next(text, position)
  end, s, 0
end
