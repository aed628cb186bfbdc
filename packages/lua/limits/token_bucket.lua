-- token_bucket(key, rate, burst): each key, a number, has a bucket with `burst` tokens, which gets `rate` tokens a second until it is full
-- again. Takes one out. Gives 0, or 1 where there is none: the packet is more than its share. With a rate of 0 there are as many tokens as at
-- first. Rate and burst have 32 bits.
local linux = require "linux"

-- Credit is counted in tokens of this many parts, and time in nanoseconds: a rate of one token a second gives one part each nanosecond.
local TOKEN <const> = 1000000000
local buckets = map { key = "int", value = { credit = "int", seen = "int" }, capacity = 65536, evict = "lru" }

return function(_, key, rate, burst)
  rate = rate & 0xffffffff
  local full = (burst & 0xffffffff) * TOKEN
  local now = linux.monotonic()
  local bucket = buckets[key]
  if not bucket then
    buckets[key] = { credit = math.max(0, full - TOKEN), seen = now }
    return full < TOKEN
  end
  -- Another CPU may have seen it later.
  local elapsed = math.max(0, now - bucket.seen)
  local credit = bucket.credit
  -- The product has 64 bits as long as it is no more than what fills the bucket.
  if rate ~= 0 and elapsed > full // rate then
    credit = full
  else
    credit = math.min(full, credit + elapsed * rate)
  end
  local is_over = credit < TOKEN
  bucket.credit = is_over and credit or credit - TOKEN
  bucket.seen = now
  return is_over
end
