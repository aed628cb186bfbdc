//! Functions and maps of objects as text in Lua: what packs tables into integers for packet code, and unpacks them.

use super::signature::{Part, Signature, Step, is_identifier};
use moonhook_snapshot::{ObjectTable, Parameter};
use std::fmt::Write;

/// How a table is read or written in Lua, from a name on.
fn access(name: &str, path: &[Step]) -> String {
    let mut text = name.to_string();
    for step in path {
        let _ = match step {
            Step::Field(field) => write!(text, "[\"{field}\"]"),
            Step::Position(position) => write!(text, "[{position}]"),
        };
    }
    text
}

/// What is given for a part: where a field is missing, or a table with fields, 0, as C fills structures up.
fn given(name: &str, part: &Part) -> String {
    let within = part.path.len().saturating_sub(1);
    let tables = part.path[..within].chunks(1);
    let table = tables.fold(name.to_string(), |table, step| format!("({} or none)", access(&table, step)));
    let value = access(&table, &part.path[within..]);
    let value = if part.path.is_empty() { value } else { format!("({value} or 0)") };
    if part.leaf.is_flag { format!("flag({value})") } else { value }
}

fn list(name: &str, parts: &[Part]) -> String {
    parts.iter().map(|part| format!(", {}", given(name, part))).collect()
}

/// The field of metatables of maps that has the map's name.
const MAP: &str = ObjectTable::MAP;

/// What flags are as integers, and tables that are missing.
const HELPERS: &str =
    "local none = {} local function flag(v) if not v or v == 0 then return 0 end return 1 end ";

/// What makes the tables around a part, where they are missing.
fn tables_around(name: &str, part: &Part, made: &mut Vec<String>) -> String {
    let mut text = String::new();
    for depth in 1..part.path.len() {
        let table = access(name, &part.path[..depth]);
        if !made.contains(&table) {
            let _ = write!(text, "if not {table} then {table} = {{}} end ");
            made.push(table);
        }
    }
    text
}

/// What [`check_packet`] and [`check_integer`] use.
pub const CHECKED: &str = "local type, error, integral = type, error, math.type ";

/// The text that refuses what is no packet, as an argument with that number of a function with that name: the same in all tiers, which would
/// otherwise count what they themselves are given.
pub fn check_packet(argument: &str, number: usize, function: &str) -> String {
    format!(
        "if type({argument}) ~= \"userdata\" then \
         error(\"bad argument #{number} to '{function}' (packet expected, got \" .. type({argument}) .. \")\", 2) end "
    )
}

/// The same of what is no integer.
pub fn check_integer(argument: &str, number: usize, function: &str) -> String {
    format!(
        "if integral({argument}) ~= \"integer\" then \
         error(\"bad argument #{number} to '{function}' (integer expected, got \" .. type({argument}) .. \")\", 2) end "
    )
}

/// The text of a function of `call` and a number, which gives the function, of which messages have the title.
pub fn function(signature: &Signature, title: &str) -> String {
    let Signature { function, names, parts } = signature;
    let names: Vec<String> =
        names.iter().enumerate().map(|(index, name)| parameter_name(index, name)).collect();
    let (mut arguments, mut results, mut written) = (String::new(), Vec::new(), String::new());
    let (mut checks, title) = (String::new(), if is_identifier(title) { title } else { "?" });
    for (index, ((parameter, name), parts)) in function.parameters.iter().zip(&names).zip(parts).enumerate() {
        match parameter {
            Parameter::Number(leaf) if leaf.is_flag => {
                let _ = write!(arguments, ", flag({name})");
            }
            Parameter::Context(_) => {
                checks += &check_packet(name, index + 1, title);
                let _ = write!(arguments, ", {name}");
            }
            Parameter::Number(_) => {
                checks += &check_integer(name, index + 1, title);
                let _ = write!(arguments, ", {name}");
            }
            Parameter::Record { is_constant, .. } => {
                arguments.push_str(&list(name, parts));
                let mut made = Vec::new();
                for part in parts.iter().filter(|part| !is_constant && !part.path.is_empty()) {
                    results.push(format!("r{}", results.len() + 1));
                    let result = results.last().map(String::as_str).unwrap_or_default();
                    let value = if part.leaf.is_flag { format!("{result} ~= 0") } else { result.to_string() };
                    written.push_str(&tables_around(name, part, &mut made));
                    let _ = write!(written, "{} = {value} ", access(name, &part.path));
                }
            }
        }
    }
    let given = match function.result {
        Some(leaf) if leaf.is_flag => "return r0 ~= 0",
        Some(_) => "return r0",
        None => "",
    };
    let all: Vec<&str> = std::iter::once("r0").chain(results.iter().map(String::as_str)).collect();
    format!(
        "local call, number = ... {CHECKED}{HELPERS}return function({}) {checks}local {} = call(number{arguments}) {written}{given} end",
        names.join(", "),
        all.join(", ")
    )
}

/// The text of a function of `get`, `set`, `delete`, `each` and a number, which gives what stands for the map. What it has for a key is a copy of
/// the entry.
pub fn map(name: &str, [key, value]: &[Vec<Part>; 2]) -> String {
    let keys = list("k", key);
    let words: Vec<String> = (1..=value.len()).map(|number| format!("v{number}")).collect();
    let words = words.join(", ");
    let found = match value.as_slice() {
        [part] if part.path.is_empty() => {
            if part.leaf.is_flag {
                "v1 ~= 0".to_string()
            } else {
                "v1".to_string()
            }
        }
        parts => entry(parts, 0, 1),
    };
    format!(
        "local get, set, delete, each, number = ... {HELPERS}
local function keyed(l) {} end
local function index(_, k)
  local found, {words} = get(number{keys})
  if found then return {found} end
end
local function newindex(_, k, v)
  if v == nil then
    if not delete(number{keys}) then error(\"entries of the map '{name}' cannot be removed\", 2) end
  elseif not set(number{keys}{}) then
    error(\"the map '{name}' takes no more entries\", 2)
  end
end
return setmetatable({{}}, {{ {MAP} = \"{name}\", __index = index, __newindex = newindex, __pairs = function(t) return each(number, t, keyed) end }})",
        keyed(key),
        list("v", value)
    )
}

/// What makes a key of a list of its integers.
fn keyed(key: &[Part]) -> String {
    if key.iter().all(|part| part.path.is_empty()) {
        return "return l[1]".to_string();
    }
    let (mut text, mut made) = ("local k = {} ".to_string(), Vec::new());
    for (number, part) in key.iter().enumerate() {
        for depth in 1..part.path.len() {
            let table = access("k", &part.path[..depth]);
            if !made.contains(&table) {
                let _ = write!(text, "{table} = {{}} ");
                made.push(table);
            }
        }
        let _ = write!(text, "{} = l[{}] ", access("k", &part.path), number + 1);
    }
    text + "return k"
}

/// A table with the parts of an entry that have the same beginning of so many steps, the first of which has that number.
fn entry(parts: &[Part], depth: usize, first: usize) -> String {
    let (mut text, mut at) = ("{ ".to_string(), 0);
    while at < parts.len() {
        // Two fields of one name, one within the other: the first one counts.
        let Some(step) = parts[at].path.get(depth) else {
            at += 1;
            continue;
        };
        let same = parts[at..].iter().take_while(|part| part.path.get(depth) == Some(step)).count().max(1);
        let (part, number) = (&parts[at], first + at);
        let name = match step {
            Step::Field(field) => format!("[\"{field}\"]"),
            Step::Position(position) => format!("[{position}]"),
        };
        let value = match (part.path.len() == depth + 1, part.leaf.is_flag) {
            (true, false) => format!("v{number}"),
            (true, true) => format!("v{number} ~= 0"),
            (false, _) => entry(&parts[at..at + same], depth + 1, number),
        };
        let _ = write!(text, "{name} = {value}, ");
        at += same;
    }
    text + "}"
}

/// A parameter's own name, if it is one in Lua.
fn parameter_name(index: usize, name: &str) -> String {
    const KEYWORDS: [&str; 23] = [
        "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "global", "goto", "if",
        "in", "local", "nil", "not", "or", "repeat", "return", "then", "true", "until", "while",
    ];
    let is_own = ["call", "number", "flag", "none", "type", "error", "integral"].contains(&name)
        || KEYWORDS.contains(&name);
    let is_result = name.strip_prefix('r').is_some_and(|rest| rest.parse::<u32>().is_ok());
    if !is_identifier(name) || is_own || is_result { format!("p{}", index + 1) } else { name.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_none_in_lua_become_others() {
        for (name, expected) in [
            ("key", "key"),
            ("end", "p3"),
            ("r1", "p3"),
            ("number", "p3"),
            ("none", "p3"),
            ("", "p3"),
            ("a) os.exit() --", "p3"),
            ("1a", "p3"),
        ] {
            assert_eq!(parameter_name(2, name), expected);
        }
    }
}
