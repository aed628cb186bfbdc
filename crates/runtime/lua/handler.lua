-- The beginning and the end of a handler.

-- Makes everything ready for a packet and calls the handler with the packet and its argument, or with the event alone; or a function
-- of a library with so many arguments, of which those behind the packet are in their places.
function start_handler(L, closure, object, count)
  local frame = u64(L + L_FRAMES)
  local stack = u64(L + L_STACK)
  set64(L + L_CI, frame)
  set64(L + L_HEAP, u64(L + L_HEAP_START))
  set64(L + L_HEAP_END, u64(L + L_MEMORY_END))
  set64(L + L_TRAVERSAL, 0)
  set64(L + L_GROW_END, 0)
  set64(L + L_OPEN, 0)
  set64(L + L_TBC, 0)
  set64(L + L_COROUTINE, 0)
  set64(L + L_TRACE, 0)
  set64(L + L_FAULT, FAULT_NONE)
  set64(L + L_ERROR_TAG, TAG_MISSING)
  set64(L + L_ENTRIES, 0)
  set64(L + L_KEPT, 0)
  set64(L + L_VALUE, TAG_NIL)
  inline.forget_absent(L)
  set64(L + L_RUN, u64(L + L_RUN) + 1)
  set64(frame + F_KIND, KIND_ENTRY)
  set64(frame + F_BASE, stack)
  set64(frame + F_LIMIT, stack + 64)
  set64(frame + F_TOP, 0)
  set64(stack, TAG_CLOSURE)
  set64(stack + 8, closure)
  set64(stack + 16, TAG_OBJECT)
  set64(stack + 24, object)
  if object == OBJECT_EVENT then return call_closure(L, stack, 1, stack, 1) end
  if count > 0 then return call_closure(L, stack, count, stack, 1) end
  set64(stack + 32, TAG_OBJECT)
  set64(stack + 40, OBJECT_ARGUMENT)
  return call_closure(L, stack, 2, stack, 1)
end

-- Keeps a value until the handler returns, and gives it.
function keep_value(L, base, n)
  if n < 1 then set64(base, TAG_NIL) end
  inline.copy_value(L + L_VALUE, base)
  return 0
end

function kept_value(L, base, n)
  inline.copy_value(base - 16, L + L_VALUE)
  return 1
end

-- The verdict that the handler's result is; NO_VERDICT if it is none, and the error is raised. The hook says what no result means, and
-- which verdicts it has, a bit for each, from the least one on, and whether false and true stand for 0 and 1.
function handler_verdict(L, pass, least, verdicts, booleans)
  local result = u64(L + L_STACK)
  local tag = u64(result)
  if tag == TAG_NIL then return pass end
  if booleans ~= 0 then
    if tag == TAG_FALSE then return 0 end
    if tag == TAG_TRUE then return 1 end
  end
  set64(L + L_TRACE, 0)
  local text = 0
  if tag == TAG_INT then
    local verdict = u64(result + 8)
    local number = verdict - least
    if number >= 0 and number < 32 and shr(verdicts, number) & 1 == 1 then return verdict end
    text = text_join(L, "handler returned ", integer_to_text(L, verdict))
    if text ~= 0 then text = text_join(L, text, ", expected a verdict") end
  else
    text = text_join(L, "handler returned a ", type_name(L, result))
    if text ~= 0 then text = text_join(L, text, " value, expected a verdict") end
  end
  if text ~= 0 then raise_plain(L, text) end
  return NO_VERDICT
end

-- Makes an integer of what a function of a library has returned, which is 0 for nil. If it is none, the error is raised; `called` is a
-- text that says which function it is.
function exported_result(L, called)
  local result = u64(L + L_STACK)
  local tag = u64(result)
  if tag == TAG_INT then return 0 end
  if tag == TAG_NIL or tag == TAG_FALSE or tag == TAG_TRUE then
    set64(result + 8, 0)
    if tag == TAG_TRUE then set64(result + 8, 1) end
    return 0
  end
  set64(L + L_TRACE, 0)
  local text = text_join(L, called, type_name(L, result))
  if text ~= 0 then text = text_join(L, text, " value, expected an integer") end
  if text ~= 0 then raise_plain(L, text) end
  return FAIL
end

-- Makes a text of the error that ended the handler (lua.c, msghandler).
function error_text(L)
  inline.note_end_of_time(L)
  local tag = u64(L + L_ERROR_TAG)
  if tag == TAG_STRING then return 0 end
  local text = 0
  if tag == TAG_INT then
    text = integer_to_text(L, u64(L + L_ERROR))
  elseif tag == TAG_FLOAT then
    text = inline.float_to_text(L, u64(L + L_ERROR))
  else
    text = text_join(L, "(error object is a ", value_type(L + L_ERROR_TAG))
    if text ~= 0 then text = text_join(L, text, " value)") end
  end
  if text ~= 0 then raise_plain(L, text) end
  return 0
end
