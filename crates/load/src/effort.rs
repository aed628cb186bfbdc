//! How many steps a match of one of Lua's patterns takes (Lua manual § 6.5.1), found out by making them.
//!
//! The library's matcher backtracks without an end in sight, and nothing can stop it. So where a match may take long, it is
//! first made here, step by step, in the same order, without results: with the same decisions it takes as long as the library will.
//! An error that the library is to raise ends the count where it is raised.

use moonhook_library::class::in_class;

/// What the work may cost.
pub(crate) trait Allowance {
    /// Whether so many steps in all are allowed. Asked again and again while the number grows.
    fn allows(&mut self, steps: u64) -> bool;
}

/// Why a count ends before the match does.
enum Stop {
    /// More steps than are allowed.
    Spent,
    /// The library raises an error.
    Fault,
}

/// Captures of a pattern (`LUA_MAXCAPTURES` of `luaconf.h`), and nested calls of the matcher (`MAXCCALLS` of `lstrlib.c`).
const CAPTURES: usize = 32;
const DEPTH: u32 = 200;

/// Steps between two looks at the allowance.
const LOOK: u64 = 1 << 15;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    Unfinished,
    Position,
    Bytes(usize),
}

/// A search for a pattern in a text.
pub(crate) struct Search<'a> {
    text: &'a [u8],
    pattern: &'a [u8],
    allowance: &'a mut dyn Allowance,
    steps: u64,
    look: u64,
    depth: u32,
    level: usize,
    captures: [(usize, Extent); CAPTURES],
}

/// Where a match ends, if there is one.
type End = Result<Option<usize>, Stop>;

impl<'a> Search<'a> {
    pub fn new(text: &'a [u8], pattern: &'a [u8], allowance: &'a mut dyn Allowance) -> Search<'a> {
        let captures = [(0, Extent::Unfinished); CAPTURES];
        Search { text, pattern, allowance, steps: 0, look: LOOK, depth: 0, level: 0, captures }
    }

    /// As `string.find` and `string.match` from byte `start`. `None`: that is more than is allowed.
    pub fn first(mut self, start: usize) -> Option<u64> {
        let (anchored, first) = self.anchor();
        let ended = self.from(start, first, anchored, None).map(drop);
        self.counted(ended)
    }

    /// As the next step of `string.gmatch`, whose matches do not end at `last`, where the one before did.
    pub fn next(mut self, start: usize, last: Option<usize>) -> Option<u64> {
        let ended = self.from(start, 0, false, last).map(drop);
        self.counted(ended)
    }

    /// As `string.gsub` with so many replacements at most.
    pub fn all(mut self, most: u64) -> Option<u64> {
        let ended = self.each(most);
        self.counted(ended)
    }

    fn counted(&mut self, ended: Result<(), Stop>) -> Option<u64> {
        let spent = matches!(ended, Err(Stop::Spent)) || !self.allowance.allows(self.steps);
        (!spent).then_some(self.steps)
    }

    /// Whether the pattern holds at one place only, and where its items begin.
    fn anchor(&self) -> (bool, usize) {
        let anchored = self.pattern.first() == Some(&b'^');
        (anchored, anchored.into())
    }

    fn from(&mut self, start: usize, first: usize, anchored: bool, last: Option<usize>) -> End {
        for at in start..=self.text.len() {
            let end = self.at(at, first)?;
            if anchored || end.is_some() && end != last {
                return Ok(end);
            }
        }
        Ok(None)
    }

    fn each(&mut self, most: u64) -> Result<(), Stop> {
        let (anchored, first) = self.anchor();
        let (mut at, mut last, mut count) = (0, None, 0);
        while count < most {
            match self.at(at, first)? {
                Some(end) if last != Some(end) => (at, last, count) = (end, Some(end), count + 1),
                _ if at < self.text.len() => at += 1,
                _ => break,
            }
            if anchored {
                break;
            }
        }
        Ok(())
    }

    /// A match that begins at `at`.
    fn at(&mut self, at: usize, first: usize) -> End {
        (self.depth, self.level) = (DEPTH, 0);
        self.nested(at, first)
    }

    fn spend(&mut self, steps: usize) -> Result<(), Stop> {
        self.steps += steps as u64;
        if self.steps >= self.look {
            if !self.allowance.allows(self.steps) {
                return Err(Stop::Spent);
            }
            self.look = self.steps + LOOK;
        }
        Ok(())
    }

    fn nested(&mut self, at: usize, item: usize) -> End {
        self.depth = self.depth.checked_sub(1).ok_or(Stop::Fault)?;
        let end = self.items(at, item);
        self.depth += 1;
        end
    }

    /// Matches the items of the pattern from `item` on.
    fn items(&mut self, mut at: usize, mut item: usize) -> End {
        loop {
            self.spend(1)?;
            let Some(&byte) = self.pattern.get(item) else { return Ok(Some(at)) };
            let next = match (byte, self.pattern.get(item + 1)) {
                (b'(', Some(b')')) => return self.open(at, item + 2, Extent::Position),
                (b'(', _) => return self.open(at, item + 1, Extent::Unfinished),
                (b')', _) => return self.close(at, item + 1),
                (b'$', None) => return Ok((at == self.text.len()).then_some(at)),
                (b'%', Some(b'b')) => self.balanced(at, item + 2)?.map(|end| (end, item + 4)),
                (b'%', Some(b'f')) => self.frontier(at, item + 2)?.map(|behind| (at, behind)),
                (b'%', Some(digit)) if digit.is_ascii_digit() => {
                    self.same(at, *digit)?.map(|end| (end, item + 2))
                }
                _ => {
                    let behind = self.behind(item)?;
                    match self.class(at, item, behind)? {
                        Next::Item(at, item) => Some((at, item)),
                        Next::End(end) => return Ok(end),
                    }
                }
            };
            match next {
                Some(next) => (at, item) = next,
                None => return Ok(None),
            }
        }
    }

    /// A class of bytes, with what says how often.
    fn class(&mut self, at: usize, item: usize, behind: usize) -> Result<Next, Stop> {
        let fits = self.fits(at, item, behind)?;
        let end = match self.pattern.get(behind) {
            Some(b'?') if fits => match self.nested(at + 1, behind + 1)? {
                None => return Ok(Next::Item(at, behind + 1)),
                end => end,
            },
            Some(b'+') if fits => self.longest(at + 1, item, behind)?,
            Some(b'*') if fits => self.longest(at, item, behind)?,
            Some(b'-') if fits => self.shortest(at, item, behind)?,
            Some(b'?' | b'*' | b'-') => return Ok(Next::Item(at, behind + 1)),
            _ if fits => return Ok(Next::Item(at + 1, behind)),
            _ => None,
        };
        Ok(Next::End(end))
    }

    fn longest(&mut self, start: usize, item: usize, behind: usize) -> End {
        let mut at = start;
        while self.fits(at, item, behind)? {
            at += 1;
        }
        loop {
            let end = self.nested(at, behind + 1)?;
            if end.is_some() || at == start {
                return Ok(end);
            }
            at -= 1;
        }
    }

    fn shortest(&mut self, mut at: usize, item: usize, behind: usize) -> End {
        loop {
            let end = self.nested(at, behind + 1)?;
            if end.is_some() || !self.fits(at, item, behind)? {
                return Ok(end);
            }
            at += 1;
        }
    }

    fn open(&mut self, at: usize, item: usize, extent: Extent) -> End {
        let level = self.level;
        *self.captures.get_mut(level).ok_or(Stop::Fault)? = (at, extent);
        self.level += 1;
        let end = self.nested(at, item)?;
        if end.is_none() {
            self.level -= 1;
        }
        Ok(end)
    }

    fn close(&mut self, at: usize, item: usize) -> End {
        let open = self.captures[..self.level].iter().rposition(|(_, extent)| *extent == Extent::Unfinished);
        let open = open.ok_or(Stop::Fault)?;
        self.captures[open].1 = Extent::Bytes(at - self.captures[open].0);
        let end = self.nested(at, item)?;
        if end.is_none() {
            self.captures[open].1 = Extent::Unfinished;
        }
        Ok(end)
    }

    /// The text of a capture once more.
    fn same(&mut self, at: usize, digit: u8) -> End {
        let number = usize::from(digit).checked_sub(usize::from(b'1')).ok_or(Stop::Fault)?;
        match self.captures[..self.level].get(number) {
            None | Some((_, Extent::Unfinished)) => Err(Stop::Fault),
            Some((_, Extent::Position)) => Ok(None),
            Some(&(start, Extent::Bytes(length))) => {
                self.spend(length / 16)?;
                let (text, end) = (&self.text[start..start + length], at + length);
                Ok((self.text.get(at..end) == Some(text)).then_some(end))
            }
        }
    }

    fn balanced(&mut self, at: usize, item: usize) -> End {
        let (Some(&open), Some(&close)) = (self.pattern.get(item), self.pattern.get(item + 1)) else {
            return Err(Stop::Fault);
        };
        if self.text.get(at) != Some(&open) {
            return Ok(None);
        }
        let mut deep = 1;
        for (index, &byte) in self.text.iter().enumerate().skip(at + 1) {
            self.spend(1)?;
            if byte == close {
                deep -= 1;
                if deep == 0 {
                    return Ok(Some(index + 1));
                }
            } else if byte == open {
                deep += 1;
            }
        }
        Ok(None)
    }

    /// The item behind a frontier, if there is one here.
    fn frontier(&mut self, at: usize, item: usize) -> End {
        if self.pattern.get(item) != Some(&b'[') {
            return Err(Stop::Fault);
        }
        let behind = self.behind(item)?;
        self.spend(behind - item)?;
        let before = at.checked_sub(1).and_then(|before| self.text.get(before)).copied().unwrap_or(0);
        let here = self.text.get(at).copied().unwrap_or(0);
        let is_in = |byte| in_set(byte, &self.pattern[item + 1..behind - 1]);
        Ok((!is_in(before) && is_in(here)).then_some(behind))
    }

    /// What follows the class of bytes at `item`.
    fn behind(&mut self, item: usize) -> Result<usize, Stop> {
        let byte = |at: usize| self.pattern.get(at).copied();
        match byte(item) {
            Some(b'%') => byte(item + 1).map(|_| item + 2).ok_or(Stop::Fault),
            Some(b'[') => {
                let mut at = item + 1 + usize::from(byte(item + 1) == Some(b'^'));
                loop {
                    // The first byte of a set is never its end.
                    let escapes = byte(at).ok_or(Stop::Fault)? == b'%';
                    at += 1 + usize::from(escapes && byte(at + 1).is_some());
                    if byte(at) == Some(b']') {
                        let behind = at + 1;
                        return self.spend((behind - item) / 4).map(|()| behind);
                    }
                }
            }
            _ => Ok(item + 1),
        }
    }

    fn fits(&mut self, at: usize, item: usize, behind: usize) -> Result<bool, Stop> {
        self.spend(1 + (behind - item) / 4)?;
        let Some(&byte) = self.text.get(at) else { return Ok(false) };
        Ok(match self.pattern[item] {
            b'.' => true,
            b'%' => in_class(byte, self.pattern[item + 1]),
            b'[' => in_set(byte, &self.pattern[item + 1..behind - 1]),
            literal => literal == byte,
        })
    }
}

/// How a match goes on behind a class of bytes.
enum Next {
    /// With this byte, and the item there.
    Item(usize, usize),
    End(Option<usize>),
}

/// Whether a byte is in a set, given what is between its brackets.
fn in_set(byte: u8, set: &[u8]) -> bool {
    let (negated, mut rest) = match set {
        [b'^', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    loop {
        let found;
        (found, rest) = match rest {
            [] => return negated,
            [b'%', letter, rest @ ..] => (in_class(byte, *letter), rest),
            [first, b'-', last, rest @ ..] => ((*first..=*last).contains(&byte), rest),
            [one, rest @ ..] => (*one == byte, rest),
        };
        if found {
            return !negated;
        }
    }
}

#[cfg(test)]
mod tests;
