//! Reading a pattern into items (`lstrlib.c`: `match`, `singlematch`, `matchbracketclass`).

use crate::value::Case;
use moonhook_library::class::in_class;

/// A set of bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Set([u64; 4]);

impl Set {
    pub const EMPTY: Set = Set([0; 4]);
    pub const ALL: Set = Set([u64::MAX; 4]);

    pub fn insert(&mut self, byte: u8) {
        self.0[usize::from(byte >> 6)] |= 1 << (byte & 63);
    }

    pub fn contains(&self, byte: u8) -> bool {
        self.0[usize::from(byte >> 6)] >> (byte & 63) & 1 == 1
    }

    fn of(predicate: impl Fn(u8) -> bool) -> Set {
        let mut set = Set::EMPTY;
        (0..=255).filter(|byte| predicate(*byte)).for_each(|byte| set.insert(byte));
        set
    }

    pub fn complement(self) -> Set {
        Set(self.0.map(|word| !word))
    }

    pub fn intersection(self, other: Set) -> Set {
        self.complement().union(other.complement()).complement()
    }

    pub fn union(self, other: Set) -> Set {
        Set(std::array::from_fn(|index| self.0[index] | other.0[index]))
    }

    pub fn is_disjoint(&self, other: &Set) -> bool {
        self.0.iter().zip(other.0).all(|(mine, theirs)| mine & theirs == 0)
    }

    /// The bytes that are in it once their case is changed.
    fn before_case(&self, case: Case) -> Set {
        Set::of(|byte| self.contains(case.of(byte)))
    }

    /// The only byte in it.
    pub fn single(&self) -> Option<u8> {
        let mut bytes = (0..=255).filter(|byte| self.contains(*byte));
        bytes.next().filter(|_| bytes.next().is_none())
    }

    /// Its maximal runs of consecutive bytes.
    pub fn runs(&self) -> Vec<(u8, u8)> {
        let mut runs: Vec<(u8, u8)> = Vec::new();
        for byte in (0..=255).filter(|byte| self.contains(*byte)) {
            match runs.last_mut() {
                Some((_, last)) if *last + 1 == byte => *last = byte,
                _ => runs.push((byte, byte)),
            }
        }
        runs
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Repeat {
    Once,
    /// `*`
    Any,
    /// `+`
    Some,
    /// `-`
    Lazy,
    /// `?`
    Optional,
}

/// A pattern item; captures are numbered from 0.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Item {
    Single(Set, Repeat),
    Open(usize),
    /// `()`
    Position(usize),
    Close(usize),
    Balanced(u8, u8),
    Frontier(Set),
    BackReference(usize),
    /// `$` at the end.
    End,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Pattern {
    /// `^` at the start.
    pub anchored: bool,
    pub items: Vec<Item>,
    /// For each capture, whether it is a position.
    pub captures: Vec<bool>,
}

/// `LUA_MAXCAPTURES`
const MAX_CAPTURES: usize = 32;

/// The pattern, or what Lua says of it.
pub fn parse(text: &[u8]) -> Result<Pattern, String> {
    parse_as(text, text.first() == Some(&b'^'))
}

/// The pattern of `string.gmatch`, where `^` is a byte like any other.
pub fn parse_repeated(text: &[u8]) -> Result<Pattern, String> {
    parse_as(text, false)
}

fn parse_as(text: &[u8], anchored: bool) -> Result<Pattern, String> {
    let mut parser = Parser { text, at: usize::from(anchored), open: Vec::new(), closed: Vec::new() };
    let mut items = Vec::new();
    let mut captures = Vec::new();
    while parser.at < text.len() {
        let item = parser.item(&mut captures)?;
        items.push(item);
    }
    if !parser.open.is_empty() {
        return Err("unfinished capture".into());
    }
    Ok(Pattern { anchored, items, captures })
}

/// Items of a pattern for which code is made, text counting as one: that is how deep the code and the compiler are nested. Lua counts
/// repetitions and captures in the same way, and raises an error where it has gone through 200 of them (`MAXCCALLS` in `lstrlib.c`),
/// which code without such a count must not be able to.
pub const MOST_ITEMS: usize = 128;

impl Pattern {
    /// Whether there are more than [`MOST_ITEMS`].
    pub fn is_long(&self) -> bool {
        let text = |item: &Item| matches!(item, Item::Single(set, Repeat::Once) if set.single().is_some());
        self.items.chunk_by(|one, next| text(one) && text(next)).nth(MOST_ITEMS).is_some()
    }

    /// The pattern that matches where this one matches the text in a case; `None` where it compares bytes of the text with one another.
    pub fn before_case(&self, case: Case) -> Option<Pattern> {
        let item = |item: &Item| {
            Some(match item {
                Item::Single(set, repeat) => Item::Single(set.before_case(case), *repeat),
                Item::Frontier(set) => Item::Frontier(set.before_case(case)),
                Item::Balanced(..) | Item::BackReference(_) => return None,
                other => other.clone(),
            })
        };
        let items = self.items.iter().map(item).collect::<Option<_>>()?;
        Some(Pattern { items, captures: self.captures.clone(), ..*self })
    }

    /// Whether no match is empty, as far as that shows without looking at sets.
    pub fn takes_bytes(&self) -> bool {
        let takes =
            |item: &Item| matches!(item, Item::Single(_, Repeat::Once | Repeat::Some) | Item::Balanced(..));
        self.items.iter().any(takes)
    }
}

/// The pattern that matches exactly `text`.
pub fn literal(text: &[u8]) -> Pattern {
    let item = |byte: &u8| Item::Single(Set::of(|b| b == *byte), Repeat::Once);
    Pattern { anchored: false, items: text.iter().map(item).collect(), captures: vec![] }
}

struct Parser<'p> {
    text: &'p [u8],
    at: usize,
    /// Captures that are still open.
    open: Vec<usize>,
    closed: Vec<bool>,
}

impl Parser<'_> {
    fn peek(&self, ahead: usize) -> Option<u8> {
        self.text.get(self.at + ahead).copied()
    }

    fn item(&mut self, captures: &mut Vec<bool>) -> Result<Item, String> {
        match (self.peek(0), self.peek(1)) {
            (Some(b'('), next) => {
                let number = captures.len();
                if number >= MAX_CAPTURES {
                    return Err("too many captures".into());
                }
                let position = next == Some(b')');
                captures.push(position);
                self.closed.push(position);
                self.at += if position { 2 } else { 1 };
                if position {
                    return Ok(Item::Position(number));
                }
                self.open.push(number);
                Ok(Item::Open(number))
            }
            (Some(b')'), _) => {
                self.at += 1;
                let number = self.open.pop().ok_or("invalid pattern capture")?;
                self.closed[number] = true;
                Ok(Item::Close(number))
            }
            (Some(b'$'), None) => {
                self.at += 1;
                Ok(Item::End)
            }
            (Some(b'%'), Some(b'b')) => {
                let (Some(first), Some(last)) = (self.peek(2), self.peek(3)) else {
                    return Err("malformed pattern (missing arguments to '%b')".into());
                };
                self.at += 4;
                Ok(Item::Balanced(first, last))
            }
            (Some(b'%'), Some(b'f')) => {
                self.at += 2;
                if self.peek(0) != Some(b'[') {
                    return Err("missing '[' after '%f' in pattern".into());
                }
                Ok(Item::Frontier(self.set()?))
            }
            (Some(b'%'), Some(digit @ b'0'..=b'9')) => {
                let number = usize::from(digit - b'0');
                self.at += 2;
                match number.checked_sub(1) {
                    Some(index) if self.closed.get(index) == Some(&true) => Ok(Item::BackReference(index)),
                    _ => Err(format!("invalid capture index %{number} in pattern")),
                }
            }
            _ => self.single(),
        }
    }

    fn single(&mut self) -> Result<Item, String> {
        let set = self.set()?;
        let repeat = match self.peek(0) {
            Some(b'*') => Repeat::Any,
            Some(b'+') => Repeat::Some,
            Some(b'-') => Repeat::Lazy,
            Some(b'?') => Repeat::Optional,
            _ => return Ok(Item::Single(set, Repeat::Once)),
        };
        self.at += 1;
        Ok(Item::Single(set, repeat))
    }

    /// A single-character class.
    fn set(&mut self) -> Result<Set, String> {
        let first = self.peek(0).unwrap_or(0);
        self.at += 1;
        match first {
            b'.' => Ok(Set::ALL),
            b'%' => {
                let class = self.peek(0).ok_or("malformed pattern (ends with '%')")?;
                self.at += 1;
                Ok(class_of(class))
            }
            b'[' => self.bracket(),
            byte => Ok(Set::of(|b| b == byte)),
        }
    }

    /// What follows `[`. As in Lua, the set's end is found first, without regard to ranges, so that `[a-%]]` is a range up to `%` and
    /// a `]`.
    fn bracket(&mut self) -> Result<Set, String> {
        let negated = self.peek(0) == Some(b'^');
        if negated {
            self.at += 1;
        }
        let end = self.end_of_set()?;
        let mut set = Set::EMPTY;
        while self.at < end {
            let byte = self.peek(0).unwrap_or(0);
            if byte == b'%' {
                set = set.union(class_of(self.peek(1).unwrap_or(0)));
                self.at += 2;
            } else if self.peek(1) == Some(b'-') && self.at + 2 < end {
                let last = self.peek(2).unwrap_or(0);
                set = set.union(Set::of(|b| (byte..=last).contains(&b)));
                self.at += 3;
            } else {
                set.insert(byte);
                self.at += 1;
            }
        }
        self.at = end + 1;
        Ok(if negated { set.complement() } else { set })
    }

    /// Where the `]` stands that ends the set; one in first place and one after a `%` stand for themselves.
    fn end_of_set(&self) -> Result<usize, String> {
        let mut ahead = 0;
        loop {
            let byte = self.peek(ahead).ok_or("malformed pattern (missing ']')")?;
            ahead += if byte == b'%' && self.peek(ahead + 1).is_some() { 2 } else { 1 };
            if self.peek(ahead) == Some(b']') {
                return Ok(self.at + ahead);
            }
        }
    }
}

/// `%a` and the like; anything else stands for itself.
fn class_of(letter: u8) -> Set {
    Set::of(|byte| in_class(byte, letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_patterns_are_named_as_lua_names_them() {
        for (pattern, problem) in [
            ("%", "malformed pattern (ends with '%')"),
            ("[a", "malformed pattern (missing ']')"),
            ("[]", "malformed pattern (missing ']')"),
            ("[%", "malformed pattern (missing ']')"),
            ("%b(", "malformed pattern (missing arguments to '%b')"),
            ("%fa", "missing '[' after '%f' in pattern"),
            ("(a", "unfinished capture"),
            ("a)", "invalid pattern capture"),
            ("(a)%2", "invalid capture index %2 in pattern"),
            ("(a%1)", "invalid capture index %1 in pattern"),
        ] {
            assert_eq!(parse(pattern.as_bytes()), Err(problem.to_string()), "{pattern}");
        }
    }

    /// Only what lies between texts counts, and a text counts once.
    #[test]
    fn long_patterns_are_those_of_many_items() {
        let is_long = |text: &str, count| parse(text.repeat(count).as_bytes()).unwrap().is_long();
        assert!(!literal(&[b'a'; 100_000]).is_long() && !is_long("abc", 10_000));
        for (text, items) in [(".", 1), ("a?", 1), ("%d", 1), ("ab%d", 2), ("%bab", 1), ("%f[a]", 1)] {
            assert!(!is_long(text, MOST_ITEMS / items), "{text}");
            assert!(is_long(text, MOST_ITEMS / items + 1), "{text}");
        }
    }

    #[test]
    fn sets_follow_the_manual() {
        let set = |text: &str| match parse(text.as_bytes()).unwrap().items.remove(0) {
            Item::Single(set, _) => set,
            other => panic!("{other:?}"),
        };
        assert!(set("[]a]").contains(b']'));
        assert!(set("[a-]").contains(b'-'));
        assert_eq!(set("[a-%]]").runs(), [(b']', b']')]);
        assert_eq!(set("[+-%%]").runs(), [(b']', b']')]);
        assert_eq!(set("[%a-z]").runs(), [(b'-', b'-'), (b'A', b'Z'), (b'a', b'z')]);
        assert!(!set("[^%s]").contains(b' '));
        assert_eq!(set("%%").single(), Some(b'%'));
        assert_eq!(set("[0-9A-F]").runs(), [(b'0', b'9'), (b'A', b'F')]);
        assert_eq!(set("%D").complement(), set("%d"));
        assert_eq!(set("%Z").complement().single(), Some(0));
    }
}
