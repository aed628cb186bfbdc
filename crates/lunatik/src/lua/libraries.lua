-- What scripts for processes have of the libraries that the sandbox keeps from others: files at absolute paths, and `debug`. Relative names are those of files
-- beside the script, which can be read.
local globals, io, debug = ...
local library, loaded = globals.io, globals.package.loaded
local open, lines, byte, type = library.open, library.lines, string.byte, type

local function is_absolute(name) return type(name) == "string" and byte(name) == 47 end

function library.open(name, ...)
  if is_absolute(name) then return io.open(name, ...) end
  return open(name, ...)
end

function library.lines(name, ...)
  if is_absolute(name) then return io.lines(name, ...) end
  return lines(name, ...)
end

local own = {}
for name, value in pairs(debug) do own[name] = value end
-- Lunatik has no terminal.
own.debug = nil
globals.debug, loaded.debug = own, own
