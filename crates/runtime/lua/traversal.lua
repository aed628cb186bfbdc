-- Traversals of shared tables. A generic `for` over one copies the keys to the end of packet memory when it begins
-- (`specialise/src/stubs/shared/traversal.rs`), and each turn takes a key. In the place of the iterator and its state, which
-- scripts cannot see, stand the table (TAG_TRAVERSAL) and what is still to come: the address of the keys | their bytes << 32.
--
-- The memory is given back without anybody having to say that a loop has ended. Registers of inner loops, and of functions
-- that are called, have higher addresses: once a loop begins, those at its own registers or at higher ones are over.

local function end_traversals(L, place)
  local innermost = u64(L + L_TRAVERSAL)
  while innermost ~= 0 and u64(innermost + TRAVERSAL_PLACE) >= place do
    set64(L + L_HEAP_END, innermost + TRAVERSAL_SIZE)
    innermost = u64(innermost + TRAVERSAL_AROUND)
  end
  set64(L + L_TRAVERSAL, innermost)
end

-- What `next` says of a table that is a map, where nothing in the script shows that it is called with a key.
local function refuse_next(L)
  return raise(L, "the entry after another one of a table that handlers share is not known at packet time")
end

local function refuse_entry(L)
  return raise(L, "the fields of an entry of a shared table cannot be traversed")
end

-- The generic `for` whose iterator, state, closing value and control variable are at `place` begins; the iterator is `next`, the
-- state a table. 0 if that is no shared table or the loop begins behind a key, so that each turn calls `next`; SHARED or FAIL.
function traversal_begin(L, place)
  local t = u64(place + 24)
  local flags = u64(t + T_FLAGS)
  if flags & FLAG_SHARED == 0 then return 0 end
  if flags & FLAG_ENTRY ~= 0 then return refuse_entry(L) end
  if u64(place + 48) ~= TAG_NIL then return 0 end
  end_traversals(L, place)
  local made = u64(L + L_HEAP_END) - TRAVERSAL_SIZE
  if made < u64(L + L_HEAP) then return raise_plain(L, "not enough memory") end
  set64(made + TRAVERSAL_PLACE, place)
  set64(made + TRAVERSAL_AROUND, u64(L + L_TRAVERSAL))
  set64(L + L_TRAVERSAL, made)
  -- A coroutine may go on with its loop later, whatever has begun meanwhile: its keys stay, and with them those below.
  if u64(L + L_COROUTINE) ~= 0 then set64(L + L_TRAVERSAL, 0) end
  set64(L + L_HEAP_END, made)
  return inline.request_shared(L, t, 0, place, ACCESS_TRAVERSE)
end

-- The keys of the table of the traversal that begins have been copied.
function traversal_ready(L, t, place)
  local keys = u64(L + L_KEYS)
  local bytes = u64(L + L_HEAP_END) - keys
  set64(L + L_HEAP_END, keys)
  set64(place, TAG_TRAVERSAL)
  set64(place + 8, t)
  set64(place + 16, TAG_INT)
  set64(place + 24, keys | bytes << 32)
  return 0
end

-- The next key and value, for `out`, of the traversal of `t` whose state is at `state`.
function traversal_next(L, t, state, out)
  return inline.request_shared(L, t, state, out, ACCESS_NEXT)
end

-- `next(t)` or `next(t, k)` of a shared table: SHARED, or FAIL.
function inline.next_of_shared(L, base, n)
  local t = u64(base + 8)
  local flags = u64(t + T_FLAGS)
  if flags & FLAG_ENTRY ~= 0 then return refuse_entry(L) end
  if n > 1 and u64(base + 16) ~= TAG_NIL then
    if flags & FLAG_STEPS == 0 then return refuse_next(L) end
    return inline.request_for_call(L, t, base + 16, base - 16, ACCESS_AFTER)
  end
  return inline.request_for_call(L, t, 0, base - 16, ACCESS_ANY)
end
