-- string.gsub. Replacements that are strings, and arguments that are none, are the business of the primitive string_gsub.

function string.gsub(...)
  local state, is_table = prim.string_gsub_start(...)
  if not state then
    -- No tail call: errors are those of this function.
    local result, count = prim.string_gsub(...)
    return result, count
  end
  local _, _, replacement = ...
  while prim.string_gsub_next(state) do
    local value
    if is_table then
      value = replacement[prim.string_gsub_key(state)]
    else
      value = replacement(prim.string_gsub_captures(state))
    end
    prim.string_gsub_replace(state, value)
  end
  return prim.string_gsub_finish(state)
end
