local counts, calls = {}, 0
return {
  bucket = function(key, most)
    calls = calls + 1
    counts[key] = (counts[key] or 0) + 1
    return counts[key] > most
  end,
  seen = function(key)
    for i = 1, 3 do if i == key then return 500 end end
    return (counts[key] or 0) * 10 + calls % 7
  end,
}
