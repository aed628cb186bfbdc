-- Cases by theme: { function, arguments… }; results and errors are those of real Lua.

local real, ours, compare = ...

local function words(library)
  return function(...)
    local results = {}
    for first, second in library.gmatch(...) do
      results[#results + 1] = first
      results[#results + 1] = second
    end
    return table.unpack(results)
  end
end

local FUNCTIONS = {
  find = { real.find, ours.find },
  match = { real.match, ours.match },
  gsub = { real.gsub, ours.gsub },
  gmatch = { words(real), words(ours) },
}

local function check(theme, name, ...)
  local functions = FUNCTIONS[name]
  for _, keep in ipairs({ false, true }) do
    ours.keep_programs(keep)
    -- The second time the program is there already.
    for _ = 1, keep and 2 or 1 do
      ours.reset()
      assert(not compare(theme .. ": " .. name, functions[1], functions[2], ...), "the budget is too small")
    end
  end
end

local function each(theme, cases)
  for _, case in ipairs(cases) do
    check(theme, table.unpack(case, 1, case.n or #case))
  end
end

local bytes = {}
for byte = 0, 255 do
  bytes[#bytes + 1] = string.char(byte)
end
bytes = table.concat(bytes)

for class in ("acdglpsuwxz"):gmatch(".") do
  for _, letter in ipairs({ class, class:upper() }) do
    each("class %" .. letter, {
      { "gsub", bytes, "%" .. letter, "" },
      { "gsub", bytes, "[%" .. letter .. "]", "" },
      { "gsub", bytes, "[^%" .. letter .. "]", "" },
      { "gsub", bytes, "%" .. letter .. "+", "" },
      { "gsub", bytes, "[x%" .. letter .. "-]+", "" },
    })
  end
end

each("sets", {
  { "gsub", bytes, "[a-z]", "" }, { "gsub", bytes, "[\0-\255]", "" }, { "gsub", bytes, "[\63-\64]", "" },
  { "gsub", bytes, "[^\0-\127]", "" }, { "gsub", bytes, "[z-a]", "" }, { "gsub", bytes, "[\127-\192]+", "" },
  { "find", "a]b", "[]]" }, { "find", "a]b", "[^]]" }, { "find", "a-b", "[a-]*" }, { "find", "x%y", "[%%]" },
  { "find", "a-z]", "[%a-z]+" }, { "find", "+,-./", "[+--]+" }, { "find", "x]", "[a-%%]" }, { "find", "]", "[a-%]]" },
  { "find", "x", "[^%s]" }, { "find", "^", "[x^]" }, { "find", "-", "[%-]" }, { "find", "b", "[a-%]b]" },
})

each("malformed", {
  { "find", "a", "%" }, { "find", "a", "[" }, { "find", "a", "[a" }, { "find", "a", "[]" }, { "find", "a", "[^]" },
  { "find", "a", "[%" }, { "find", "a", "[%]" }, { "find", "a", "[a-" }, { "find", "a", "%b" }, { "find", "a", "%ba" },
  { "find", "a", "%f" }, { "find", "a", "%fa" }, { "find", "a", "%f[" }, { "find", "a", "(" }, { "find", "a", ")" },
  { "find", "a", "(()" }, { "find", "a", "%1" }, { "find", "a", "(%1)" }, { "find", "a", "(a)%2" }, { "find", "a", "%0" },
  { "find", "a", "()%1" }, { "find", "aa", "(a)%1" }, { "match", "a", "a)" }, { "match", "a", ")" },
  { "gsub", "a", ")", "" },
  { "gmatch", "a", "(" }, { "gsub", "a", "(", "" }, { "gsub", "a", "(", "%1" }, { "gsub", "a", "(", {} },
  { "gsub", "a", "(", print }, { "gsub", "a", "()(", {} }, { "find", "a", ("()"):rep(33) }, { "find", "a", ("()"):rep(32) },
  { "find", "a", ("("):rep(33) }, { "find", "a", ("(a?"):rep(32) .. (")"):rep(32) }, { "match", "", "[a" },
})

each("errors where the matching does not get", {
  { "find", "b", "a%" }, { "find", "b", "a[" }, { "find", "", "a[" }, { "find", "ab", "a*b[" }, { "find", "ab", "a-c)" },
  { "find", "b", "a(()" }, { "find", "aaa", "a+b%1" }, { "find", "xy", "x?z%b" },
})

each("where matches begin and end", {
  { "find", "hello", "l" }, { "find", "hello", "" }, { "find", "hello", "", 6 }, { "find", "hello", "", 7 },
  { "find", "hello", "l", -2 }, { "find", "hello", "l", -20 }, { "find", "hello", "h", 0 }, { "find", "", "" },
  { "find", "", "^$" }, { "find", "", "a" }, { "find", "a$b", "$b" }, { "find", "a$", "a$$" }, { "find", "a^b", "a^b" },
  { "find", "aXb", "^X", 2 }, { "find", "aXb", "^b", 2 }, { "match", "  trim  ", "^%s*(.-)%s*$" },
  { "match", "hello", ".-$" },
  { "find", "a.b", ".", 2, true }, { "find", "a.b", ".b", 1, true }, { "find", "a.b", "", 4, true },
  { "find", "abc", "", 5, true }, { "find", "x\0y", "\0" }, { "find", "x\0y", "%z" }, { "find", "x\0y", "[\0]y" },
  { "gmatch", "^a^a", "^a" }, { "gsub", "aaa", "^a", "b" }, { "gsub", "baa", "^a", "b" }, { "match", "x", "()" },
  { "match", "key = value", "^(%w+)%s*=%s*(%w+)$" }, { "match", "2024-01-02", "(%d+)-(%d+)-(%d+)" },
  { "find", "abc", "b", math.maxinteger }, { "find", "abc", "b", math.mininteger },
  { "match", "abc", "b", math.mininteger },
  { "gmatch", "abc", ".", math.maxinteger }, { "gmatch", "abc", ".", -2 }, { "gmatch", "abc", "x*", 5 },
  { "gmatch", "abc", "x*", 4 },
})

each("search without patterns", {
  { "find", ("ab"):rep(20) .. "abc", "abc" }, { "find", ("a"):rep(30), "aab" }, { "find", ("a"):rep(30) .. "b", "aab" },
  { "find", "x" .. ("y"):rep(17), "yx" }, { "find", ("0123456789"):rep(4), "78901234567890123" }, { "find", "abc", "abcd" },
  { "find", ("\1\0"):rep(9), "\0\0" }, { "find", ("\0\1"):rep(9), "\1\0\1\0\1\0\1\0\1" }, { "find", "ab", "b", 2 },
  { "find", "\128\129\0\1", "\0\1" }, { "find", ("a"):rep(7) .. "b", "b" }, { "find", ("a"):rep(8) .. "b", "b" },
  { "find", "a]b", "]" }, { "find", "a)b", ")" }, { "find", "xx\1\0", "\0" }, { "find", "\1\0\1", "\0" },
})

each("repetitions that give back, and those that need not", {
  { "match", "aaab", "a*ab" }, { "match", "aaab", "a+ab" }, { "match", "aab", "a?aab" }, { "match", "aaab", "(a*)(a*)b" },
  { "match", "aaa", "a-a" }, { "match", "aaa", "^a-$" }, { "match", "aab", "a-b" },
  { "match", "foo.bar.baz", "(.*)%.(.*)" },
  { "match", "foo.bar.baz", "(.-)%.(.*)" }, { "match", "abc123", "%a*%d*$" }, { "match", "abc123x", "%a*%d*$" },
  { "match", "12ab", "%w*%d" }, { "match", "xay", "[xa]*a" }, { "match", "<<a>>", "<.->" }, { "match", "<a><b>", "<.*>" },
  { "match", "aXbX", "[^X]*X$" }, { "match", "aaaa", "^(a-)%1$" }, { "match", "abab", "^(.-)%1$" },
  { "match", "abcabd", "^(.+)%1$" },
  { "match", "ab", "a?b?c?$" }, { "match", "abd", "a?b?c?$" }, { "match", "ac", "a[b]?c" }, { "match", "aXb", "a.?b" },
  { "match", "a,b", "^[^,]*,(.-)$" }, { "match", "a", "a-$" }, { "find", "aaaa", "a-b?c-$" },
  { "match", "((a)(b))", "%b()" },
  { "match", "THE (quick) fox", "%((%a+)%)" }, { "match", "(()", "%b()" }, { "match", "xax", "%bxx" },
  { "match", "a", "%b\0x" },
  { "gsub", "THE (quick) fox", "%f[%a]%a+", "w" }, { "find", "abc", "%f[%z]" }, { "find", "abc ", "%f[%W]" },
  { "find", "", "%f[%z]" },
  { "find", "ab", "%f[^a]" }, { "gmatch", "hello world", "%f[%w]()%w+()" },
})

-- Lua counts calls of its C function: one for each repetition that matched something, and for each end of a capture.
for _, count in ipairs({ 135, 198, 199, 200, 201, 300 }) do
  local text = ("a"):rep(count)
  local pairs = ("ab"):rep(count)
  each("depth " .. count, {
    { "find", text, ("a?"):rep(count) }, { "find", text, ("a*"):rep(count) }, { "find", pairs, ("a+b+"):rep(count // 2) },
    { "find", text, ("a?"):rep(count) .. "$" }, { "find", text, ("a-"):rep(count) }, { "find", text, ("%a-"):rep(count) },
    { "find", "a", ("a?"):rep(count) }, { "find", "", ("a*"):rep(count) }, { "find", text, ("()"):rep(16) .. ("a?"):rep(count) },
    { "find", text, ("(a?)"):rep(32) .. ("a?"):rep(count - 64) }, { "find", text, ("(a?)"):rep(32) .. ("a?"):rep(count - 96) },
    { "match", pairs, ("()"):rep(31) .. "(" .. ("a+b+"):rep((count - 32) // 2) .. ")" }, { "gsub", text, ("a?"):rep(count), "x" },
    { "find", text, ("[ab]"):rep(count) }, { "find", text, ("."):rep(count) .. "$" },
  })
end

each("gmatch and gsub", {
  { "gmatch", "hello world", "%a*" }, { "gmatch", "abc", "" }, { "gmatch", "a,b,,c", "([^,]*)" },
  { "gmatch", "k=v, x=y", "(%w+)=(%w+)" },
  { "gsub", "abc", "", "-" }, { "gsub", "abc", "%w*", "x" }, { "gsub", "hello world", "o", "0", 1 },
  { "gsub", "abc", "b", "%%" },
  { "gsub", "abc", "b", "%0%0" }, { "gsub", "abc", "(b)", "<%1>" }, { "gsub", "abc", "()b()", "%1-%2" },
  { "gsub", "abc", "b", "%1" },
  { "gsub", "abc", "b", "%2" }, { "gsub", "abc", "(b)", "%2" }, { "gsub", "abc", "x", "%2" }, { "gsub", "abc", "b", "%" },
  { "gsub", "abc", "b", "%x" }, { "gsub", "abc", "b", "%9" }, { "gsub", ("x"):rep(200), "()", "%1," },
  { "gsub", "abc", "b", 7 },
  { "gsub", 1213, 1, 0 }, { "gsub", 12, "x", 0 }, { "gsub", "abc", "%w", "%0%0", -1 }, { "gsub", "abc", "%w", "%0%0", 0 },
  { "gsub", "abc", "%w", "x", "2" }, { "gsub", "", "", "" }, { "gsub", "", "", "x" }, { "gsub", "a\0b", "%z", "\0\0" },
  { "gsub", "abc", "%w", { a = 1, b = true } }, { "gsub", "abc", "%w", { a = 1, b = false, c = "" } },
  { "gsub", "abc", "()", { "x" } },
  { "gsub", "abc", "%w", { b = print } }, { "gsub", "abc", "%w", { b = {} } },
  { "gsub", "abc", "%w", setmetatable({}, { __index = string.upper }) },
  { "gsub", "abc def", "(%w)(%w)", function(x, y) return y .. x end }, { "gsub", "abc", "%w", function() end },
  { "gsub", "abc", "%w", function() return false end }, { "gsub", "abc", "%w", function() return 12, 13 end, 2 },
  { "gsub", "abc", "%w", function() error("stop", 0) end },
  { "gsub", ("ab"):rep(100), "b", function(b) return b:rep(20) end },
  { "gsub", "abc", "^%w", { a = "x" } }, { "gsub", "abc", "^b", { b = "x" } }, { "gsub", "aXbX", "X", string.lower },
})

each("arguments", {
  { "find" }, { "find", "a" }, { "find", nil, "a", n = 3 }, { "find", "a", {} }, { "find", "a", "a", "x" },
  { "find", "a", "a", {} },
  { "find", "a", "a", "1" }, { "find", 123, 2 }, { "find", 123, "2", "-1" }, { "match", "a", true },
  { "match", 15, "x", {} },
  { "find", "a", "a", 1.0 }, { "find", "a", "a", 1.5 }, { "find", "a.a", ".a", nil, 1 },
  { "find", "a.a", ".a", nil, false },
  { "gsub" }, { "gsub", "a" }, { "gsub", "a", "b" }, { "gsub", "a", "b", nil, n = 4 }, { "gsub", "a", "b", true },
  { "gsub", "a", "b", nil, "x" }, { "gsub", "a", "b", {}, "x" }, { "gsub", "a", {}, {} }, { "gsub", {}, "a", print },
  { "gmatch" }, { "gmatch", "a" }, { "gmatch", "a", "a", "x" }, { "gmatch", print, "a" }, { "gmatch", 1213, 1 },
})
