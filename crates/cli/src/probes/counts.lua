-- Counts what happens at EVENT, by NUMBER, in all processes but the one that has the number OWN. These three words are replaced before the script is loaded.
local trace = require "trace"

counts = map { key = "int", value = "int", capacity = 1024, percpu = true }

trace.on(EVENT, function(e)
  if e.pid == OWN then return end
  local number = NUMBER
  if number < 0 or number > 1023 then return end
  counts[number] = (counts[number] or 0) + 1
end)
