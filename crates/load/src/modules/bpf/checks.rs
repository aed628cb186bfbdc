//! What functions and maps of objects check of what they are given.
//!
//! It is text in Lua, and so the same at load time, in control code and in all tiers, whose own checks would count what they are given themselves.
//! Errors have the line of the call. Numbers are taken as Lua's own functions take integers (manual § 3.4.3): `"7"` and `7.0` are 7.

use super::signature::is_identifier;

/// What the checks use; parameters must not have these names.
pub const OWN: [&str; 4] = ["tointeger", "type", "error", "wrong"];

/// The text of it. `wrong` is called by functions that the script calls: their callers are on the third level.
pub const HELPERS: &str = "local tointeger, type, error = math.tointeger, type, error \
local function wrong(v, wanted, place) \
local got = type(v) \
if got == wanted then error(\"bad \" .. place .. \" (number has no integer representation)\", 3) end \
error(\"bad \" .. place .. \" (\" .. wanted .. \" expected, got \" .. got .. \")\", 3) end ";

/// How messages call an argument.
pub fn argument(number: usize, function: &str) -> String {
    let function = if is_identifier(function) { function } else { "?" };
    format!("argument #{number} to '{function}'")
}

/// An expression for the integer that the expression `value` is, at what messages call `place`.
pub fn integer(value: &str, place: &str) -> String {
    format!("(tointeger({value}) or wrong({value}, \"number\", \"{place}\"))")
}

/// A statement that refuses what is of another type.
pub fn of_type(value: &str, ty: &str, place: &str) -> String {
    format!("if type({value}) ~= \"{ty}\" then wrong({value}, \"{ty}\", \"{place}\") end ")
}

/// The same of what is no packet, or nothing else that packets have the type of. Of an object of the module `data`, the variable is its packet from there on.
pub fn packet(variable: &str, place: &str) -> String {
    let object = format!(
        "if type({variable}) == \"table\" then {variable} = {variable}[\"\\0packet\"] or {variable} end "
    );
    format!(
        "{object}if type({variable}) ~= \"userdata\" then wrong({variable}, \"packet\", \"{place}\") end "
    )
}
