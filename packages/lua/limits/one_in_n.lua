-- one_in_n(n, number): 1 for the first of n packets, 0 for the others: of those that this CPU has seen with that number, from 0 to 255. 0 for other
-- numbers, and where n is 0.
local NUMBERS <const> = 256
local turns = map { key = "int", value = "int", capacity = NUMBERS, percpu = true }
return function(_, n, number)
  n = n & 0xffffffff
  if not math.ult(number, NUMBERS) or n == 0 then
    return 0
  end
  local turn = turns[number] or 0
  turns[number] = turn + 1 < n and turn + 1 or 0
  return turn == 0
end
