-- Finds the number that a process has in the kernel, which in a container (a PID namespace) is not what it knows of itself: it calls `getpriority` for TOKEN,
-- which there is not. The word is replaced before the script is loaded.
local trace = require "trace"
local GETPRIORITY = 140

found = map { key = "int", value = "int", capacity = 1 }

trace.on("raw_tp/sys_enter", function(e)
  if e.id == GETPRIORITY and e.regs.di == TOKEN then found[0] = e.pid end
end)
