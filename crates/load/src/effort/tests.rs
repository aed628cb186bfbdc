use super::*;
use mlua::{Lua, Table, Value};

struct Most(u64);

impl Allowance for Most {
    fn allows(&mut self, steps: u64) -> bool {
        steps < self.0
    }
}

/// What the library says, in the same words as [`counted`].
fn library(lua: &Lua, text: &[u8], pattern: &[u8]) -> String {
    let find: mlua::Function = lua.globals().get::<Table>("string").unwrap().get("find").unwrap();
    let arguments = (lua.create_string(text).unwrap(), lua.create_string(pattern).unwrap(), 1);
    match find.call::<(Value, Value)>(arguments) {
        Err(_) => "error".to_string(),
        Ok((Value::Nil, _)) => "none".to_string(),
        Ok((_, end)) => format!("ends behind {}", end.as_integer().unwrap()),
    }
}

fn counted(text: &[u8], pattern: &[u8]) -> String {
    let mut most = Most(1 << 26);
    let mut search = Search::new(text, pattern, &mut most);
    let (anchored, first) = search.anchor();
    match search.from(0, first, anchored, None) {
        Err(Stop::Fault) => "error".to_string(),
        Err(Stop::Spent) => "spent".to_string(),
        Ok(None) => "none".to_string(),
        Ok(Some(end)) => format!("ends behind {end}"),
    }
}

#[test]
fn decisions_are_those_of_the_library() {
    let lua = Lua::new();
    for (text, pattern) in [
        ("hello world", "o w"),
        ("hello world", "^(h)(.-)%f[%w]w%w*$"),
        ("f(a(b)c)d", "%b()d"),
        ("abcabc", "(abc)%1"),
        ("aXb", "()%u()"),
        ("x]y", "[]]"),
        ("x-y", "[a%-]"),
        ("x^y", "[%^x]y"),
        ("", "^$"),
        ("a\0b", "%z"),
        ("aaa", "a-$"),
        ("a$", "$$"),
        ("x", "%"),
        ("x", "[a"),
        ("x", "[a%"),
        ("x", "x%1"),
        ("x", ".)"),
        ("x", "%f"),
        ("x", "%bx"),
    ] {
        let expected = library(&lua, text.as_bytes(), pattern.as_bytes());
        assert_eq!(counted(text.as_bytes(), pattern.as_bytes()), expected, "{text:?} {pattern:?}");
    }
    let long = "(".repeat(40);
    assert_eq!((counted(b"x", long.as_bytes()), library(&lua, b"x", long.as_bytes())).0, "error");
}

#[test]
fn fuzz_decisions_are_those_of_the_library() {
    let setting = |name: &str, default: u64| -> u64 {
        std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let mut state: u64 = setting("MOONHOOK_FUZZ_SEED", 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut random = move |limit: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % limit as u64) as usize
    };
    let parts: [&[u8]; 30] = [
        b"a", b"b", b".", b"%a", b"%d", b"%S", b"[ab]", b"[^a]", b"[%w-]", b"[b-]", b"[a-c]", b"*", b"+",
        b"-", b"?", b"*", b"-", b"(", b")", b"()", b"%1", b"%2", b"%b()", b"%f[%w]", b"$", b"^", b"%", b"[",
        b"]", b"c",
    ];
    let lua = Lua::new();
    for _ in 0..setting("MOONHOOK_FUZZ_CASES", 20_000) {
        let mut pattern = Vec::new();
        (0..random(9)).for_each(|_| pattern.extend_from_slice(parts[random(parts.len())]));
        let text: Vec<u8> = (0..random(14)).map(|_| b"aabbc(1) "[random(9)]).collect();
        if !pattern.iter().any(|byte| b"^$*+?.([%-".contains(byte)) {
            // It is looked for as it is.
            continue;
        }
        let found = counted(&text, &pattern);
        let shown = || format!("{} in {}", pattern.escape_ascii(), text.escape_ascii());
        // A capture that is never closed is an error of what becomes of the match.
        let unclosed = found.starts_with("ends") && pattern.contains(&b'(');
        let expected = library(&lua, &text, &pattern);
        assert!(found == expected || unclosed && expected == "error", "{}: {found}, not {expected}", shown());
    }
}

#[test]
fn what_takes_for_ever_is_given_up() {
    let text = "a".repeat(200);
    for pattern in [".-.-.-.-.-b$", "a*a*a*a*a*b", "(.-)(.-)(.-)%1%2%3c", "a?a?a?a?a?a*a*a*a*b"] {
        let (text, pattern) = (text.as_bytes(), pattern.as_bytes());
        assert!(Search::new(text, pattern, &mut Most(1_000_000)).first(0).is_none());
        assert!(Search::new(text, pattern, &mut Most(1_000_000)).all(u64::MAX).is_none());
        assert!(Search::new(text, pattern, &mut Most(1_000_000)).next(0, None).is_none());
    }
    let linear = Search::new(text.as_bytes(), b"^%a+$", &mut Most(1_000_000)).first(0);
    assert!(linear.is_some_and(|steps| (200..2000).contains(&steps)), "{linear:?}");
}
