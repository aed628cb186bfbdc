-- Functions of the string library that call functions of the script.

-- The primitive formats all but what tostring has to convert: for that it gives nil and the number of the argument.
function string.format(...)
  local text, number = prim.string_format(...)
  if text then
    return text
  end
  local count = select("#", ...)
  local arguments = { ... }
  repeat
    arguments[number] = prim.to_text(arguments[number])
    text, number = prim.string_format(table.unpack(arguments, 1, count))
  until text
  return text
end
