//! Scripts of any length, each with more and more of one thing that operators write.

/// A kind of script.
pub struct Shape {
    pub name: &'static str,
    /// The script with that many of the things.
    pub text: fn(usize) -> String,
    /// The smallest number that is measured.
    pub least: usize,
    /// What it is measured as.
    pub in_expanded: bool,
    pub in_general: bool,
    /// It is a library for programs in C.
    pub is_library: bool,
}

/// What is compiled.
pub struct Text {
    pub script: String,
    pub is_library: bool,
}

impl Shape {
    /// That many times the smallest number of things.
    pub fn script(&self, times: usize) -> Text {
        Text { script: (self.text)(times * self.least), is_library: self.is_library }
    }
}

const fn shape(name: &'static str, least: usize, text: fn(usize) -> String) -> Shape {
    Shape { name, text, least, in_expanded: true, in_general: false, is_library: false }
}

const fn in_both(name: &'static str, least: usize, text: fn(usize) -> String) -> Shape {
    Shape { in_general: true, ..shape(name, least, text) }
}

const fn only_general(name: &'static str, least: usize, text: fn(usize) -> String) -> Shape {
    Shape { in_expanded: false, ..in_both(name, least, text) }
}

const fn library(name: &'static str, least: usize, text: fn(usize) -> String) -> Shape {
    Shape { is_library: true, ..in_both(name, least, text) }
}

pub const SHAPES: &[Shape] = &[
    shape("handlers with a counter each", 20, handlers),
    in_both("functions and a caller", 20, functions),
    in_both("ifs", 30, ifs),
    shape("alternatives", 30, alternatives),
    in_both("lines straight on", 40, lines),
    shape("pieces of a string", 10, pieces),
    shape("accesses to a shared table", 10, shared),
    shape("fields of an entry", 10, fields),
    shape("variables", 30, variables),
    in_both("counters behind functions", 10, counters),
    shape("closures", 20, closures),
    shape("tables made in a handler", 30, made),
    shape("loops", 10, loops),
    shape("prints", 3, prints),
    shape("words looked for", 5, words),
    shape("rules in a table", 20, rules),
    in_both("tables beside one another", 100, siblings),
    in_both("tables and strings beside one another", 100, mixed),
    library("functions for programs in C", 20, exported),
    only_general("functions on one line", 200, on_one_line),
    only_general("a chain of fields", 100, fields_in_a_row),
    only_general("a table of many fields", 200, many_fields),
    only_general("assignments to fields", 100, assigned_fields),
    only_general("assignments to globals", 100, assigned_globals),
    only_general("classes that keep their instances", 10, classes),
];

/// A script with much of load time, and the most bytes that may be held while it is compiled.
type Entries = (&'static str, fn() -> String, usize);

pub const ENTRIES: &[Entries] =
    &[("a chain of tables", || chain(20_000), 40 << 20), ("names", || names(100_000), 80 << 20)];

fn script(before: &str, body: &str) -> String {
    let start = "local xdp = require 'xdp'\nlocal action = require 'linux.xdp'\n";
    format!("{start}{before}\nxdp.attach(function(pkt)\n{body}\n  return action.PASS\nend)\n")
}

fn each(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(|n| line(n) + "\n").collect()
}

fn handlers(count: usize) -> String {
    let handler = |n| {
        format!(
            "local n{n} = 0\nxdp.attach(function(pkt)\n  if pkt.udp and pkt.udp.dport == {n} then n{n} = n{n} + 1 return action.DROP end\nend)"
        )
    };
    script(&each(count, |n| format!("do\n{}\nend", handler(n))), "")
}

fn functions(count: usize) -> String {
    let function = |n| {
        format!(
            "function F.f{n}(pkt)\n  local b = pkt:getbyte({})\n  if b == {n} then return b end\n  return 1\nend",
            n % 14
        )
    };
    let calls = each(count, |n| format!("  sum = sum + F.f{n}(pkt)"));
    let body = format!("  local sum = 0\n{calls}  if sum == 7 then return action.DROP end");
    script(&format!("F = {{}}\n{}", each(count, function)), &body)
}

fn ifs(count: usize) -> String {
    let line = |n| format!("  if pkt:getbyte({}) == {} then s = s + {n} end", n % 14, n % 256);
    script("", &format!("  local s = 0\n{}  if s > 5 then return action.DROP end", each(count, line)))
}

fn alternatives(count: usize) -> String {
    let line = |n| format!("  elseif b == {n} then s = {}", 3 * n);
    let all = each(count, line);
    let start = "  local b, s = pkt:getbyte(14) * 256 + pkt:getbyte(15), 0\n  if b == -1 then s = 1\n";
    script("", &format!("{start}{all}  else s = 7 end\n  if s > 5 then return action.DROP end"))
}

fn lines(count: usize) -> String {
    let line = |n| format!("  s = s + pkt:getbyte({}) * {n}", n % 14);
    script("", &format!("  local s = 0\n{}  if s > 5 then return action.DROP end", each(count, line)))
}

fn pieces(count: usize) -> String {
    let line = |n| format!("  s = s .. b .. 'x{n}'");
    script("", &format!("  local s, b = '', pkt:getbyte(14)\n{}  print(s)", each(count, line)))
}

fn shared(count: usize) -> String {
    let line = |n| format!("  t[pkt:getbyte({0})] = (t[pkt:getbyte({0})] or 0) + 1", n % 14);
    script("local t = {}", &each(count, line))
}

fn fields(count: usize) -> String {
    let start =
        "  local k = pkt:getbyte(14)\n  local e = t[k]\n  if not e then e = {a = 0, b = 0} t[k] = e end\n";
    let line = |n| format!("  e.a = e.a + pkt:getbyte({})\n  if e.a > {n} then e.b = e.b + 1 end", n % 14);
    script("local t = {}", &format!("{start}{}", each(count, line)))
}

fn variables(count: usize) -> String {
    script(&each(count, |n| format!("v{n} = 0")), &each(count, |n| format!("  v{n} = v{n} + 1")))
}

/// What is assigned to a table comes out of all of them.
fn counters(count: usize) -> String {
    let function = |n| {
        format!(
            "do\n  local c = {n}\n  function F.f{n}(x)\n    if x > {n} then c = x end\n    return c\n  end\nend"
        )
    };
    let calls = each(count, |n| format!("  s = F.f{n}(s)"));
    let start = format!("F = {{}}\nlocal t = {{}}\n{}", each(count, function));
    script(&start, &format!("  local s = pkt:getbyte(14)\n{calls}  t[s] = s"))
}

fn closures(count: usize) -> String {
    let line = |n| {
        format!(
            "  do local x = pkt:getbyte({}) local f = function() return x + {n} end if s & 1 == 0 then x = 3 end s = s + f() end",
            n % 14
        )
    };
    script("", &format!("  local s = 0\n{}  if s > 5 then return action.DROP end", each(count, line)))
}

fn made(count: usize) -> String {
    let line = |n| format!("  do local t = {{a = pkt:getbyte({}), b = {n}}} s = s + t.a * t.b end", n % 14);
    script("", &format!("  local s = 0\n{}  if s > 5 then return action.DROP end", each(count, line)))
}

fn loops(count: usize) -> String {
    let line = |n| format!("  for i = 1, pkt:getbyte({}) do s = s + i end", n % 14);
    script("", &format!("  local s = 0\n{}  if s > 5 then return action.DROP end", each(count, line)))
}

fn prints(count: usize) -> String {
    let line =
        |n| format!("  if pkt:getbyte({}) == {} then print('x{n}', pkt:getbyte(2)) end", n % 14, n % 256);
    script("", &each(count, line))
}

fn words(count: usize) -> String {
    let line = |n| format!("  if s:find('k{n}', 1, true) then return action.DROP end");
    let start = "  local s = pkt.payload\n  if not s then return action.PASS end\n";
    script("", &format!("{start}{}", each(count, line)))
}

fn rules(count: usize) -> String {
    let rules =
        format!("local R = {{}}\nfor i = 1, {count} do R[i] = {{f = function(p) return p == i end}} end");
    let body = "  local u = pkt.udp\n  if not u then return action.PASS end\n  for _, r in ipairs(R) do if r.f(u.dport) then return action.DROP end end";
    script(&rules, body)
}

/// The packet says which of them is read.
fn siblings(count: usize) -> String {
    let tables = format!("local t = {{}}\nfor i = 1, {count} do t[i] = {{i}} end");
    script(&tables, "  local r = t[pkt:getuint32(0)]\n  if r and r[1] == 7 then return action.DROP end")
}

fn mixed(count: usize) -> String {
    let values = format!("local t = {{}}\nfor i = 1, {count} do t[i] = i % 2 == 0 and {{i}} or 'x' end");
    script(&values, "  local r = t[pkt:getuint32(0)]\n  if r == 'x' then return action.DROP end")
}

fn on_one_line(count: usize) -> String {
    let functions: String = (0..count).map(|n| format!("function() return {n} end, ")).collect();
    script(
        &format!("local t = {{ {functions} }}"),
        "  local f = t[pkt:getuint32(0)]\n  if f then print(f()) end",
    )
}

fn fields_in_a_row(count: usize) -> String {
    script(
        "",
        &format!("  local t = {{}} t.x = t\n  if t{} == t then return action.DROP end", ".x".repeat(count)),
    )
}

fn many_fields(count: usize) -> String {
    script(
        "",
        &format!(
            "  local t = {{{}}}\n  if t.f7 == 7 then return action.DROP end",
            each(count, |n| format!("f{n} = {n},"))
        ),
    )
}

fn assigned_fields(count: usize) -> String {
    script(
        "",
        &format!(
            "  local t = {{}}\n{}  if t.f7 == 7 then return action.DROP end",
            each(count, |n| format!("  t.f{n} = {n}"))
        ),
    )
}

fn assigned_globals(count: usize) -> String {
    script(
        "",
        &format!("{}  if g7 == 7 then return action.DROP end", each(count, |n| format!("  g{n} = {n}"))),
    )
}

fn classes(count: usize) -> String {
    let class = |n| {
        format!(
            "do\n  local C, list = {{}}, {{}}\n  C.__index, kept[{n}] = C, list\n\
             \x20 function C.keep(v) list[#list + 1] = setmetatable({{v = v, names = {{}}}}, C) end\n\
             \x20 function C:has(name) return self.names[name .. self.v] end\n  C.keep({n})\nend\n"
        )
    };
    let used = |n| format!("  if kept[{n}][1]:has(pkt:getstring(0, 1)) then return action.DROP end");
    script(&format!("local kept = {{}}\n{}", each(count, class)), &each(count, used))
}

fn exported(count: usize) -> String {
    let function = |n| format!("  f{n} = function(pkt, a) t[a] = (t[a] or 0) + {n} return t[a] // 3 end,");
    format!("local t = {{}}\nreturn {{\n{}}}", each(count, function))
}

fn chain(count: usize) -> String {
    let chain = format!("local t\nfor i = 1, {count} do t = {{next = t, v = i}} end");
    script(&chain, "  if t.v == pkt:getbyte(14) then return action.DROP end")
}

fn names(count: usize) -> String {
    let names =
        format!("local names = {{}}\nfor i = 1, {count} do names['name' .. i .. '.example'] = true end");
    script(
        &names,
        "  local tls = pkt.tls\n  if tls and tls.sni and names[tls.sni] then return action.DROP end",
    )
}
