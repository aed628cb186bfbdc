-- Functions that give iterators, with as many results as in Lua.

function base.pairs(t)
  prim.expect_any(1)
  local iterate = prim.metafield(t, "__pairs")
  if iterate == nil then
    return next, t, nil, nil
  end
  local f, state, first, closing = iterate(t)
  return f, state, first, closing
end

function base.ipairs(t)
  prim.expect_any(1)
  if prim.is_plain_table(t) then
    return prim.ipairs_next, t, 0
  end
  return prim.ipairs_general, t, 0
end

-- The iterator for what may have metamethods.
function prim.ipairs_general(t, i)
  i = prim.expect_integer(2, i) + 1
  local value = t[i]
  if value == nil then
    return nil
  end
  return i, value
end
