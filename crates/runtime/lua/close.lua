-- Variables that are to be closed, and what happens after an error.

-- OP_TBC: the register at `slot` is closed when its block ends (luaF_newtbcupval).
function mark_closed(L, slot)
  if u64(slot) <= TAG_FALSE then return 0 end
  if u64(metamethod(L, slot, "__close", text_hash("__close"))) == TAG_NIL then
    local name = operand_name(L, S_A)
    if name == 0 then name = "?" end
    local text = text_join(L, "variable '", name)
    if text ~= 0 then text = text_join(L, text, "' got a non-closable value") end
    if text == 0 then return FAIL end
    return raise_here(L, text)
  end
  local entry = alloc(L, 16)
  if entry == 0 then return FAIL end
  set64(entry, slot)
  set64(entry + 8, u64(L + L_TBC))
  set64(L + L_TBC, entry)
  return 0
end

-- The innermost variable to be closed that is at `level` or above; taken off the list. 0 if there is none.
function take_closed(L, level)
  local entry = u64(L + L_TBC)
  if entry == 0 then return 0 end
  local slot = u64(entry)
  if slot < level then return 0 end
  set64(L + L_TBC, u64(entry + 8))
  return slot
end

-- Requests `__close(value[, error])`; the call stands at `top`.
function request_close(L, slot, top, count)
  local handler = metamethod(L, slot, "__close", text_hash("__close"))
  inline.copy_value(top + 16, slot)
  inline.copy_value(top, handler)
  if u64(top) == TAG_NIL then return operand_error(L, top, "call", " (metamethod 'close')") end
  return inline.request(L, top, count, top, 0)
end

-- A block ends: its variables from `level` on are closed, one at each call; 0 when all are.
function close_block(L, level)
  close_variables(L, level)
  local slot = take_closed(L, level)
  if slot == 0 then return 0 end
  local frame = u64(L + L_CI)
  local top = u64(frame + F_LIMIT)
  if u64(frame + F_TOP) > top then top = u64(frame + F_TOP) end
  return request_close(L, slot, top, 1)
end

-- What a frame that catches errors is, also while it closes variables.
function inline.catching_kind(frame)
  local kind = u64(frame + F_KIND)
  if kind == KIND_CLOSING then kind = u64(frame + F_CAUGHT) end
  return kind
end

-- Whether the error is that memory has run out. Lua knows it by its text alone (lua_error in lapi.c), and calls no handler for it.
function inline.out_of_memory(L)
  if u64(L + L_ERROR_TAG) ~= TAG_STRING then return 0 end
  return text_equal(u64(L + L_ERROR), "not enough memory")
end

-- How often a handler of `xpcall` is called for errors of its own. Lua goes on until its C stack is full, some 200 times; each call takes
-- packet memory here.
local MAX_HANDLERS <const> = 16

-- An error was raised, and is worded (`finish_fault`): looks for who catches it. A handler of `xpcall` is called first, where the error happened. Nobody does at
-- the entry, where `__tostring` words what is no text.
function unwind(L)
  if u64(L + L_DECIDED) ~= 0 then return FINISHED end
  inline.note_end_of_time(L)
  local frame = u64(L + L_CI)
  local handling = 0
  local kind = u64(frame + F_KIND)
  while kind == KIND_LUA or kind == KIND_HANDLER do
    if kind == KIND_HANDLER then handling = handling + 1 end
    frame = frame - FRAME_SIZE
    kind = u64(frame + F_KIND)
  end
  kind = inline.catching_kind(frame)
  -- A handler is called for errors of its own, too.
  if handling ~= 0 and (kind ~= KIND_XPCALL or handling >= MAX_HANDLERS) and kind ~= KIND_ENTRY then
    set64(L + L_ERROR_TAG, TAG_STRING)
    set64(L + L_ERROR, "error in error handling")
    return throw_to(L, frame)
  end
  if kind == KIND_ENTRY then
    take_traceback(L)
    set64(frame + F_VALUE, TAG_NIL)
    if u64(L + L_ERROR_TAG) == TAG_NIL then
      set64(frame + F_VALUE, TAG_STRING)
      set64(frame + F_VALUE + 8, "(error object is a nil value)")
    end
    local text = metamethod(L, L + L_ERROR_TAG, "__tostring", text_hash("__tostring"))
    if u64(L + L_ERROR_TAG) ~= TAG_STRING and u64(text) ~= TAG_NIL then
      inline.copy_value(frame + F_FAILURE, L + L_ERROR_TAG)
      return call_handler(L, text)
    end
  end
  if kind == KIND_XPCALL and inline.out_of_memory(L) == 0 then return call_handler(L, frame + F_VALUE) end
  return throw_to(L, frame)
end

-- Calls a function with the error value.
function call_handler(L, handler)
  local running = u64(L + L_CI)
  local top = u64(running + F_LIMIT)
  if u64(running + F_TOP) > top then top = u64(running + F_TOP) end
  if running + 2 * FRAME_SIZE >= u64(L + L_FRAMES_END) or top + 512 > u64(L + L_STACK_END) then
    return throw_to(L, catcher(L))
  end
  inline.push_marker(L, KIND_HANDLER, top, 0, u64(L + L_RAISED))
  inline.copy_value(top, handler)
  inline.copy_value(top + 16, L + L_ERROR_TAG)
  return inline.request(L, top, 1, top, 1)
end

-- The innermost frame that catches errors.
function catcher(L)
  local frame = u64(L + L_CI)
  local kind = u64(frame + F_KIND)
  while kind == KIND_LUA or kind == KIND_HANDLER do
    frame = frame - FRAME_SIZE
    kind = u64(frame + F_KIND)
  end
  return frame
end

-- The handler of an error has returned: its result becomes the error. At the entry the error stays what it is, for variables are
-- still to be closed with it, and a text is what it is called in the end.
function handler_returned(L)
  local result = u64(u64(L + L_CI) + F_BASE)
  local frame = catcher(L)
  if inline.catching_kind(frame) == KIND_ENTRY then
    if u64(result) == TAG_STRING then inline.copy_value(frame + F_VALUE, result) end
    inline.copy_value(L + L_ERROR_TAG, frame + F_FAILURE)
  else
    inline.copy_value(L + L_ERROR_TAG, result)
  end
  return throw_to(L, frame)
end

-- Gives up everything above `frame`, which catches the error, and closes its variables.
function throw_to(L, frame)
  set64(L + L_CI, frame)
  inline.copy_value(frame + F_FAILURE, L + L_ERROR_TAG)
  -- Who catches errors, or is closed because of one, never sees nil (luaG_errormsg).
  if u64(frame + F_FAILURE) == TAG_NIL then
    set64(frame + F_FAILURE, TAG_STRING)
    set64(frame + F_FAILURE + 8, "<no error object>")
  end
  -- Variables of a coroutine that was resumed stay as they are until it is closed.
  if u64(frame + F_KIND) == KIND_RESUME then return ENDED end
  if u64(frame + F_KIND) ~= KIND_CLOSING then
    set64(frame + F_CAUGHT, u64(frame + F_KIND))
    set64(frame + F_KIND, KIND_CLOSING)
    close_variables(L, u64(frame + F_BASE))
  end
  return CLOSE
end

-- Closes the next variable above the frame that has caught an error; when there is none, the error is its result.
function close_more(L)
  local frame = u64(L + L_CI)
  local slot = take_closed(L, u64(frame + F_BASE))
  if slot ~= 0 then
    inline.copy_value(slot + 48, frame + F_FAILURE)
    -- A coroutine may be closed without an error.
    local count = 2
    if u64(frame + F_FAILURE) == TAG_NIL then count = 1 end
    return request_close(L, slot, slot + 16, count)
  end
  local kind = u64(frame + F_CAUGHT)
  if kind >= KIND_RESUME then
    set64(frame + F_KIND, kind)
    return ENDED
  end
  inline.copy_value(L + L_ERROR_TAG, frame + F_FAILURE)
  if kind == KIND_ENTRY then
    if u64(frame + F_VALUE) == TAG_STRING then inline.copy_value(L + L_ERROR_TAG, frame + F_VALUE) end
    return FAILED
  end
  local from = u64(frame + F_BASE)
  set64(from, TAG_FALSE)
  set64(from + 8, 0)
  inline.copy_value(from + 16, frame + F_FAILURE)
  set64(frame + F_KIND, kind)
  set64(frame + F_TOP, from + 32)
  set64(L + L_ERROR_TAG, TAG_MISSING)
  return CAUGHT
end
