//! String literals of runtime Lua: each becomes the integer that is the payload of the constant string.
//!
//! Only tells literals from comments and other text (Lua manual § 3.1); what a literal means is left to Lua. Lines keep their
//! numbers.

use mlua::{Lua, LuaString};

use super::memory::Shared;

/// `text` with integers for its string literals.
pub(super) fn replace(lua: &Lua, text: &str, memory: &Shared) -> mlua::Result<String> {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(['"', '\'', '[', '-']) {
        result.push_str(&rest[..start]);
        rest = &rest[start..];
        let (length, literal) = token(rest);
        if literal {
            let value: LuaString = lua.load(format!("return {}", &rest[..length])).eval()?;
            // In parentheses, so that no digit or name in front is joined to it.
            result.push_str(&format!("({})", memory.borrow_mut().intern(&value.as_bytes())));
            rest[..length].matches('\n').for_each(|_| result.push('\n'));
        } else {
            result.push_str(&rest[..length]);
        }
        rest = &rest[length..];
    }
    result.push_str(rest);
    Ok(result)
}

/// Length in bytes of what `text` starts with, and whether it is a literal. `text` starts with `"`, `'`, `[` or `-`.
fn token(text: &str) -> (usize, bool) {
    if let Some(comment) = text.strip_prefix("--") {
        let length = long_bracket(comment).unwrap_or_else(|| comment.find('\n').unwrap_or(comment.len()));
        return (2 + length, false);
    }
    match text.as_bytes()[0] {
        b'[' => long_bracket(text).map_or((1, false), |length| (length, true)),
        b'-' => (1, false),
        quote => (quoted(text, quote), true),
    }
}

/// Length of the long bracket that `text` starts with, its ends included.
fn long_bracket(text: &str) -> Option<usize> {
    let level = text.strip_prefix('[')?.find(|c| c != '=')?;
    let inner = text[1 + level..].strip_prefix('[')?;
    let end = format!("]{}]", "=".repeat(level));
    Some(2 + level + inner.find(&end)? + end.len())
}

fn quoted(text: &str, quote: u8) -> usize {
    let bytes = text.as_bytes();
    let mut at = 1;
    while at < bytes.len() && bytes[at] != quote {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::token;

    #[test]
    fn literals_and_what_looks_like_them() {
        for (text, expected) in [
            (r#""a\"b" .. "c""#, (6, true)),
            (r"'\\' x", (4, true)),
            ("[==[ ]=] ]==] x", (13, true)),
            ("[1]", (1, false)),
            ("-1", (1, false)),
            ("-- \"a\"\nx", (6, false)),
            ("--[[ 'a' \n ]] x", (13, false)),
        ] {
            assert_eq!(token(text), expected, "{text}");
        }
    }
}
