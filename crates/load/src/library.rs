//! Functions that a script gives programs in C: those of the table that it returns, by name.

use mlua::{Function, Table, Value};
use moonhook_diagnostic::Place;
use moonhook_hook::{Hook, Place as At, Point, XDP};
use moonhook_snapshot::Source;

use crate::error::LoadError;
use crate::modules::module::type_name;
use crate::registry::Registration;

/// Integers that such a function can take behind the packet: functions of programs have five parameters at most.
const MOST: u8 = 4;

/// Words that C has for itself (C11 and C23), so that no function can be called so there.
const RESERVED: &[&str] = &[
    "alignas",
    "alignof",
    "auto",
    "bool",
    "break",
    "case",
    "char",
    "const",
    "constexpr",
    "continue",
    "default",
    "do",
    "double",
    "else",
    "enum",
    "extern",
    "false",
    "float",
    "for",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "nullptr",
    "register",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "struct",
    "switch",
    "thread_local",
    "true",
    "typedef",
    "typeof",
    "typeof_unqual",
    "union",
    "unsigned",
    "void",
    "volatile",
    "while",
];

/// Whether the word is one that C has for itself.
pub fn is_reserved(word: &str) -> bool {
    RESERVED.contains(&word)
}

/// The functions in what a script has returned, in the order of their names. One that returns no table has none.
///
/// # Errors
/// `Exported`, if C cannot call one.
pub(crate) fn functions(
    returned: &Value,
    hook: &'static Hook,
    sources: &[Source],
) -> Result<Vec<Registration>, LoadError> {
    let Value::Table(table) = returned else { return Ok(Vec::new()) };
    let mut found = named(table, sources)?;
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    let registration = |(name, function): (String, Function)| Registration {
        point: Point::at(hook, At::Function(name.into())),
        function,
    };
    Ok(found.into_iter().map(registration).collect())
}

/// The same handlers once more, where programs in C call them with an argument: those of the script's interface.
pub(crate) fn called(registered: &[Registration]) -> Vec<Registration> {
    let is_of_interface = |registration: &&Registration| registration.point == Point::at_interface(&XDP);
    let again = |registration: &Registration| Registration {
        point: Point::at(&XDP, At::Called),
        function: registration.function.clone(),
    };
    registered.iter().filter(is_of_interface).map(again).collect()
}

/// Refuses names that two scripts have given functions, and what is for hooks without packets.
pub(crate) fn check(registered: &[Registration]) -> Result<(), LoadError> {
    for (index, Registration { point, .. }) in registered.iter().enumerate() {
        if point.hook.is_trace() {
            let name = match &point.place {
                At::Function(name) => name.to_string(),
                _ => point.to_string(),
            };
            let problem = format!("programs at the hook '{}' have no packets", point.hook.name);
            return Err(LoadError::Exported { name, problem, place: None });
        }
        if let At::Function(name) = &point.place
            && registered[..index].iter().any(|other| other.point == *point)
        {
            let problem = "another script has one of that name".to_string();
            return Err(LoadError::Exported { name: name.to_string(), problem, place: None });
        }
    }
    Ok(())
}

fn named(table: &Table, sources: &[Source]) -> Result<Vec<(String, Function)>, LoadError> {
    let mut found = Vec::new();
    for pair in table.pairs::<Value, Value>() {
        let Ok((key, Value::Function(function))) = pair else { continue };
        let name = match &key {
            Value::String(name) => name.to_string_lossy(),
            other => format!("[{}]", type_name(other)),
        };
        if let Some(problem) = problem(&name, &function) {
            let place = place(&name, &function, sources).map(Box::new);
            return Err(LoadError::Exported { name, problem, place });
        }
        found.push((name, function));
    }
    Ok(found)
}

/// Why C cannot call the function by that name.
fn problem(name: &str, function: &Function) -> Option<String> {
    let info = function.info();
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let is_name = name.bytes().all(is_letter) && !name.starts_with(|first: char| first.is_ascii_digit());
    if !is_name || name.is_empty() || is_reserved(name) {
        return Some("its name is none in C".into());
    }
    if info.what == "C" {
        return Some("it is none of a script's".into());
    }
    if info.is_vararg {
        return Some("it takes `...`".into());
    }
    match info.num_params {
        0 => Some("it takes no packet".into()),
        count if count > 1 + MOST => Some(format!("it takes {} integers behind the packet", count - 1)),
        _ => None,
    }
}

/// Where the function begins.
fn place(name: &str, function: &Function, sources: &[Source]) -> Option<Place> {
    let info = function.info();
    let file = info.source?.strip_prefix('@')?.to_string();
    let line = u32::try_from(info.line_defined?).ok()?;
    let source = sources.iter().find(|source| source.name == file)?;
    Some(Place { file, line, text: source.line(line).to_owned(), name: Some(name.to_string()) })
}
