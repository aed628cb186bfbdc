//! The text of a script, by lines.

use std::sync::OnceLock;

/// A file of Lua text.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// As it stands in messages: the script's path as given, a module's path as found.
    pub name: String,
    text: String,
    /// Where each line ends, its line end with it. Found when a line is first asked for: a script of many lines has many that are asked for.
    ends: OnceLock<Vec<usize>>,
}

impl Source {
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Source {
        Source { name: name.into(), text: text.into(), ends: OnceLock::new() }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Line `line` (from 1) without its line end; empty when there is none.
    pub fn line(&self, line: u32) -> &str {
        self.line_at(line).unwrap_or("")
    }

    fn line_at(&self, line: u32) -> Option<&str> {
        let ends = self.ends.get_or_init(|| {
            let lengths = self.text.split_inclusive('\n').map(str::len);
            lengths.scan(0, |end, length| (*end += length, *end).1.into()).collect()
        });
        let index = (line as usize).checked_sub(1)?;
        let start = index.checked_sub(1).map_or(0, |before| ends.get(before).copied().unwrap_or(0));
        self.text.get(start..*ends.get(index)?)?.lines().next()
    }
}

impl PartialEq for Source {
    fn eq(&self, other: &Source) -> bool {
        (&self.name, &self.text) == (&other.name, &other.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_of_the_text() {
        for text in ["", "\n", "one", "one\ntwo\n", "one\r\n\r\nthree", "\n\nthree\r"] {
            let source = Source::new("x.lua", text);
            let lines: Vec<&str> = text.lines().collect();
            (0..6).for_each(|line: u32| {
                let expected = (line as usize).checked_sub(1).and_then(|index| lines.get(index));
                assert_eq!(source.line(line), expected.copied().unwrap_or(""), "{text:?}, line {line}");
            });
        }
    }
}
