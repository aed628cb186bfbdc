-- coroutine.wrap: the function that it returns holds the coroutine.

function coroutine.wrap(...)
  local co = prim.coroutine_create(...)
  return function(...)
    return prim.call_coroutine(co, ...)
  end
end
