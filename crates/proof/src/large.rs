//! Long scripts as people write them: a hundred functions that parse, split, count, sort, check and call one another.
//!
//! Other than random programs ([`crate::generator`]), which look for faults with odd code, these show that compiling takes
//! the size: every function comes from a pattern of everyday code, with names and numbers of its own.

use crate::random::Random;

/// Makes the script of that seed with so many functions. Its handler runs the one that the payload's first byte chooses, prints
/// what it gave, and drops what is even.
pub fn script(seed: u64, functions: usize) -> String {
    let mut random = Random::new(seed);
    let mut text = START.to_string();
    for index in 1..=functions {
        let pattern = PATTERNS[(index + random.below(2)) % PATTERNS.len()];
        text.push_str(&filled(pattern, index, &mut random));
    }
    text + END
}

/// A pattern with its blanks filled in: `@` is the function's number, `?` a small number, `$` a letter, `CALL` a call of an
/// earlier function.
fn filled(pattern: &str, index: usize, random: &mut Random) -> String {
    let mut text = String::new();
    let (before, after) = pattern.split_once("CALL").unwrap_or((pattern, ""));
    let call = match index {
        1 => "n".to_string(),
        // Calls reach far enough back that chains of them stay short.
        _ => format!("all[{}](s:sub(2), n + 1)", 1 + random.below(index.min(1 + index * 2 / 3) - 1)),
    };
    for c in format!("{before}{call}{after}").chars() {
        match c {
            '@' => text.push_str(&index.to_string()),
            '?' => text.push_str(&(3 + random.below(40)).to_string()),
            '$' => text.push((b'b' + random.below(20) as u8) as char),
            c => text.push(c),
        }
    }
    text
}

const START: &str = r#"local xdp = require "xdp"
local action = require "linux.xdp"

-- Every function takes a text and a number and gives a number.
local all = {}

local Shape = {}
Shape.__index = Shape

function Shape:area()
  return self.width * self.height
end

function Shape:scaled(by)
  return self:area() * by
end
"#;

const END: &str = r#"
xdp.attach(function(pkt)
  local payload = pkt.payload
  if not payload or #payload == 0 then
    return action.PASS
  end
  local choice = payload:byte() % #all + 1
  local good, result = pcall(all[choice], payload, #payload)
  print(choice, good, result)
  if good and result % 2 == 0 then
    return action.DROP
  end
  return action.PASS
end)
"#;

const PATTERNS: [&str; 8] = [
    r#"
-- A header of four bytes.
all[@] = function(s, n)
  if #s < 8 then
    return n % ?
  end
  local kind, flags, length = string.unpack(">BBI2", s, 2)
  local header = { kind = kind, flags = flags, length = length }
  if header.flags & ? ~= 0 then
    header.length = header.length >> 1
  end
  return header.kind * ? + header.length + CALL
end
"#,
    r#"
-- The words of a text.
all[@] = function(s, n)
  local count, longest = 0, ""
  for word in s:lower():gmatch("%w+") do
    count = count + 1
    if #word > #longest then
      longest = word
    end
  end
  if longest:find("^[a-$]") then
    return #longest * ?
  end
  return count + CALL
end
"#,
    r#"
-- The bytes in order.
all[@] = function(s, n)
  local list = {}
  for i = 1, math.min(#s, ?) do
    list[#list + 1] = s:byte(i) * ? % 251
  end
  table.sort(list, function(x, y)
    return x > y
  end)
  local text = table.concat(list, ",")
  return #text + (list[1] or ?) + CALL
end
"#,
    r#"
-- A sum that two functions share.
all[@] = function(s, n)
  local total = n
  local function add(by)
    total = total + by
    return total
  end
  local steps = { add, function(x) return add(x * ?) end }
  for i = 1, ? do
    steps[i % #steps + 1](i)
  end
  return total + CALL
end
"#,
    r#"
local Box@ = setmetatable({}, { __index = Shape })
Box@.__index = Box@

function Box@:area()
  return Shape.area(self) + ?
end

all[@] = function(s, n)
  local box = setmetatable({ width = #s, height = n % ? }, Box@)
  return box:area() + box:scaled(?) + CALL
end
"#,
    r#"
-- Counts names, one letter after another.
all[@] = function(s, n)
  local state, at, names = "outside", 1, 0
  while at <= #s and at <= ? do
    local c = s:sub(at, at)
    if state == "outside" and c:match("%a") then
      state = "name$"
    elseif state ~= "outside" and not c:match("%w") then
      state, names = "outside", names + 1
    end
    at = at + 1
  end
  return names * ? + CALL
end
"#,
    r#"
-- What is not allowed is an error.
all[@] = function(s, n)
  local function checked(value)
    if value > ? then
      error({ code = value })
    elseif value == ? then
      error("the value " .. value)
    end
    return value
  end
  local good, result = pcall(checked, #s % ?)
  if good then
    return result + CALL
  end
  return type(result) == "table" and result.code or #result
end
"#,
    r#"
local routes@ = {
  [0] = function(x) return x + ? end,
  function(x) return x * ? end,
  function(x) return x // 2 end,
}

all[@] = function(s, n)
  local key = s:byte(3) or ?
  local text = ("%s-%d $"):format(key, n):rep(2, "/")
  return routes@[key % 3](#text) + CALL
end
"#,
];
