-- events(number): counts by any number of 32 bits, on each CPU by itself. Gives how often this CPU has counted it. Of 4096 numbers those go that
-- were not counted for long.
local events = map { key = "int", value = "int", capacity = 4096, percpu = true, evict = "lru" }
return function(_, number)
  number = number & 0xffffffff
  events[number] = (events[number] or 0) + 1
  return events[number]
end
