//! Functions and maps of objects as text in Lua: what packs tables into integers for packet code, and unpacks them.

use super::checks;
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

/// What is given for a part: where a field is missing, or a table with fields, 0, as C fills structures up. Messages call all of it `place`.
fn given(name: &str, part: &Part, place: &str) -> String {
    let Some((last, around)) = part.path.split_last() else {
        return if part.leaf.is_flag { format!("flag({name})") } else { checks::integer(name, place) };
    };
    let value = access(&within(name, around), std::slice::from_ref(last));
    match part.leaf.is_flag {
        true => format!("flag({value})"),
        false => checks::integer(&format!("({value} or 0)"), &field(&part.path, place)),
    }
}

/// The table that these steps lead to; one without fields where it is missing.
fn within(name: &str, steps: &[Step]) -> String {
    let into =
        |table: String, step: &Step| format!("({} or none)", access(&table, std::slice::from_ref(step)));
    steps.iter().fold(name.to_string(), into)
}

/// The field of metatables of maps that has the map's name.
const MAP: &str = ObjectTable::MAP;

fn field(path: &[Step], place: &str) -> String {
    format!("field '{}' of {place}", title(path))
}

fn list(name: &str, parts: &[Part], place: &str) -> String {
    parts.iter().map(|part| format!(", {}", given(name, part, place))).collect()
}

/// What refuses what is no table where one is needed.
fn tables(name: &str, parts: &[Part], place: &str) -> String {
    let (mut text, mut known) = (String::new(), Vec::new());
    for part in parts {
        for depth in 0..part.path.len() {
            let steps = &part.path[..depth];
            if known.contains(&steps) {
                continue;
            }
            known.push(steps);
            let place = if depth == 0 { place.to_string() } else { field(steps, place) };
            text.push_str(&checks::of_type(&within(name, steps), "table", &place));
        }
    }
    text
}

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

/// A part's name in messages, as Lua writes it: `point.y[2]`.
fn title(path: &[Step]) -> String {
    let step = |(index, step): (usize, &Step)| match step {
        Step::Field(field) if index == 0 => field.clone(),
        Step::Field(field) => format!(".{field}"),
        Step::Position(position) => format!("[{position}]"),
    };
    path.iter().enumerate().map(step).collect()
}

/// What flags are as integers, and tables that are missing.
const FLAG: &str =
    "local none = {} local function flag(v) if not v or v == 0 then return 0 end return 1 end ";

/// The text of a function of `call` and a number, which gives the function, of which messages have the name.
pub fn function(signature: &Signature, own_name: &str) -> String {
    let Signature { function, names, parts } = signature;
    let names: Vec<String> =
        names.iter().enumerate().map(|(index, name)| parameter_name(index, name)).collect();
    let (mut arguments, mut results, mut written) = (String::new(), Vec::new(), String::new());
    let mut checked = String::new();
    for (index, ((parameter, name), parts)) in function.parameters.iter().zip(&names).zip(parts).enumerate() {
        let place = checks::argument(index + 1, own_name);
        match parameter {
            Parameter::Number(leaf) if leaf.is_flag => {
                let _ = write!(arguments, ", flag({name})");
            }
            Parameter::Context(_) => {
                checked.push_str(&checks::packet(name, &place));
                let _ = write!(arguments, ", {name}");
            }
            Parameter::Number(_) => {
                let _ = write!(arguments, ", {}", checks::integer(name, &place));
            }
            Parameter::Record { is_constant, .. } => {
                checked.push_str(&tables(name, parts, &place));
                arguments.push_str(&list(name, parts, &place));
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
        "local call, number = ... {FLAG}{}return function({}) {checked}local {} = call(number{arguments}) {written}{given} end",
        checks::HELPERS,
        names.join(", "),
        all.join(", ")
    )
}

/// The text of a function of `get`, `set`, `delete`, `each` and a number, which gives what stands for the map. What it has for a key is a copy of
/// the entry.
pub fn map(name: &str, [key, value]: &[Vec<Part>; 2]) -> String {
    let [of_key, of_value] = ["key of", "value for"].map(|what| format!("{what} the map '{name}'"));
    let keys = list("k", key, &of_key);
    let (key_table, value_table) = (tables("k", key, &of_key), tables("v", value, &of_value));
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
        "local get, set, delete, each, number = ... {FLAG}{}
local function keyed(l) {} end
local function index(_, k)
  {key_table}
  local found, {words} = get(number{keys})
  if found then return {found} end
end
local function newindex(_, k, v)
  {key_table}
  if v == nil then
    if not delete(number{keys}) then error(\"entries of the map '{name}' cannot be removed\", 2) end
  else
    {value_table}
    if not set(number{keys}{}) then error(\"the map '{name}' takes no more entries\", 2) end
  end
end
return setmetatable({{}}, {{ {MAP} = \"{name}\", __index = index, __newindex = newindex, __pairs = function(t) return each(number, t, keyed) end }})",
        checks::HELPERS,
        keyed(key),
        list("v", value, &of_value)
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
    let is_own = ["call", "number", "flag", "none"].contains(&name) || checks::OWN.contains(&name);
    let is_own = is_own || KEYWORDS.contains(&name);
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
            ("type", "p3"),
            ("wrong", "p3"),
            ("", "p3"),
            ("a) os.exit() --", "p3"),
            ("1a", "p3"),
        ] {
            assert_eq!(parameter_name(2, name), expected);
        }
    }
}
