-- Bytes as hexadecimal digits and back; lines of a log; tests.
local util = {}

function util.bin2hex(bytes)
  return (bytes:gsub("[\0-\xff]", function(byte) return string.format("%.2x", byte:byte()) end))
end

function util.hex2bin(digits)
  return string.gsub(digits, "..", function(pair) return string.char(tonumber(pair, 16)) end)
end

function util.log(what, ...)
  print(table.concat({ what:upper(), ... }, "\t"))
end

function util.test(name, test)
  local passed, reason = pcall(test)
  if passed then
    util.log("pass", name)
  else
    util.log("fail", name, reason, "\n" .. debug.traceback())
  end
end

return util
