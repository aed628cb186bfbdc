-- string.gmatch: the function it returns holds the state of the search.

function string.gmatch(...)
  local state = prim.string_gmatch_start(...)
  return function()
    return prim.string_gmatch_next(state)
  end
end
