-- Bytes as hexadecimal digits and back; lines of a log; tests.
local util = {}

-- By byte, its two digits.
local digits = {}
for byte = 0, 255 do digits[string.char(byte)] = ("%02x"):format(byte) end

function util.bin2hex(bytes)
  return (bytes:gsub("[\0-\xff]", digits))
end

function util.hex2bin(text)
  return text:gsub("%x%x", function(pair) return string.char(tonumber(pair, 16)) end)
end

function util.log(kind, ...)
  print(kind:upper(), ...)
end

-- Calls a function; a line says whether it has come to its end, or why not.
function util.test(name, body)
  local where = ""
  local function note(reason)
    where = debug.traceback()
    return reason
  end
  local passed, reason = xpcall(body, note)
  if passed then return util.log("pass", name) end
  util.log("fail", name, reason, "\n" .. where)
end

return util
