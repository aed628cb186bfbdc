-- count(number): counts packets and their bytes by a number from 0 to 255. Gives how many packets this CPU has counted so, 0 for other numbers.
local NUMBERS <const> = 256
local counts = map { key = "int", value = { packets = "int", bytes = "int" }, capacity = NUMBERS, percpu = true }
return function(pkt, number)
  if not math.ult(number, NUMBERS) then
    return 0
  end
  local count = counts[number]
  if not count then
    counts[number] = { packets = 1, bytes = #pkt }
    return 1
  end
  -- An entry that another CPU has made has no fields here.
  count.packets = (count.packets or 0) + 1
  count.bytes = (count.bytes or 0) + #pkt
  return count.packets
end
