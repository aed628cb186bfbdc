//! What can be seen of a handler's run, and whether two tiers agree about it.

use moonhook_records::Text;
use std::fmt;

/// What one tier did with one frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    pub verdict: i32,
    /// The verdict is that of a handler that returns nothing.
    pub passed: bool,
    /// The frame afterwards.
    pub data: Vec<u8>,
    /// Printed lines, without line end.
    pub output: Vec<Text>,
    /// The message of the run-time error, with position.
    pub error: Option<Text>,
    /// The entries of the tables that are maps, a line each, sorted.
    pub tables: Vec<String>,
}

/// The two tiers' views of a frame about which they disagree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Which part differs first.
    pub part: &'static str,
    pub kernel: Seen,
    pub user: Seen,
}

/// The message of both tiers for a handler that takes too long (docs/packet.md).
const BUDGET: &[u8] = b"step budget exhausted";

impl Seen {
    pub fn ran_out_of_budget(&self) -> bool {
        self.error.as_ref().is_some_and(|error| error.bytes == BUDGET)
    }

    /// The frame passed as it was, without a word; at some hooks it was made longer to be run.
    pub fn nothing_happened(&self, frame: &[u8]) -> bool {
        self.passed && self.data.starts_with(frame) && self.output.is_empty() && self.error.is_none()
    }
}

impl Seen {
    /// What was seen of a frame at one hook, and then at another: the verdict is that of the first.
    pub fn and(mut self, next: Seen) -> Seen {
        self.passed &= next.passed;
        self.output.extend(next.output);
        self.error = self.error.or(next.error);
        Seen { data: next.data, tables: next.tables, ..self }
    }
}

/// Compares what the tiers did. Where both ran out of steps only that counts: they do not agree on which turn of a loop.
pub fn compare(kernel: Seen, user: Seen) -> Result<Seen, Box<Difference>> {
    if kernel.ran_out_of_budget() && user.ran_out_of_budget() {
        return Ok(user);
    }
    let part = if !agree(kernel.error.as_ref(), user.error.as_ref()) {
        "error"
    } else if kernel.verdict != user.verdict {
        "verdict"
    } else if !lines_agree(&kernel.output, &user.output) {
        "output"
    } else if kernel.data != user.data {
        "frame"
    } else if kernel.tables != user.tables {
        "tables"
    } else {
        return Ok(user);
    };
    Err(Box::new(Difference { part, kernel, user }))
}

fn lines_agree(kernel: &[Text], user: &[Text]) -> bool {
    kernel.len() == user.len() && kernel.iter().zip(user).all(|(a, b)| agree(Some(a), Some(b)))
}

/// A record may have lost the end of a text; the user tier's is whole.
fn agree(kernel: Option<&Text>, user: Option<&Text>) -> bool {
    match (kernel, user) {
        (Some(kernel), Some(user)) => kernel.agrees_with(&user.bytes),
        (None, None) => true,
        _ => false,
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} differs\n    kernel: {}\n    user:   {}", self.part, self.kernel, self.user)?;
        let lines = (self.kernel.output.iter().map(Some).chain(std::iter::repeat(None)))
            .zip(self.user.output.iter().map(Some).chain(std::iter::repeat(None)))
            .take(self.kernel.output.len().max(self.user.output.len()));
        let differing = |(_, (kernel, user)): &(usize, (Option<&Text>, Option<&Text>))| match (kernel, user) {
            (Some(kernel), Some(user)) => !kernel.agrees_with(&user.bytes),
            _ => true,
        };
        for (line, (kernel, user)) in lines.enumerate().filter(differing).take(4) {
            let show = |text: Option<&Text>| {
                text.map_or("nothing".to_string(), |text| format!("{:?}", text.lossy()))
            };
            write!(
                f,
                "\n    line {}: kernel {}\n    {:>width$} user {}",
                line + 1,
                show(kernel),
                "",
                show(user),
                width = (line + 1).ilog10() as usize + 6
            )?;
        }
        for (tier, tables, other) in [
            ("kernel", &self.kernel.tables, &self.user.tables),
            ("user", &self.user.tables, &self.kernel.tables),
        ] {
            for line in tables.iter().filter(|line| !other.contains(line)).take(4) {
                write!(f, "\n    only {tier}: {line}")?;
            }
        }
        let places = self.kernel.data.iter().zip(&self.user.data).enumerate();
        for (offset, (kernel, user)) in places.filter(|(_, (a, b))| a != b).take(8) {
            write!(f, "\n    byte {offset}: kernel {kernel:#04x}, user {user:#04x}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "verdict {}, {} bytes", self.verdict, self.data.len())?;
        for line in &self.output {
            write!(f, ", printed {:?}", line.lossy())?;
        }
        match &self.error {
            Some(error) => write!(f, ", error {:?}", error.lossy()),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen() -> Seen {
        Seen { verdict: 2, data: vec![1, 2], ..Seen::default() }
    }

    fn text(text: &str) -> Text {
        Text::whole(text.as_bytes().to_vec())
    }

    #[test]
    fn every_part_is_compared() {
        type Change = (&'static str, fn(&mut Seen));
        let changes: [Change; 7] = [
            ("verdict", |seen| seen.verdict = 1),
            ("frame", |seen| seen.data[1] = 9),
            ("frame", |seen| seen.data.push(0)),
            ("output", |seen| seen.output.push(text("x"))),
            ("tables", |seen| seen.tables.push("t[1] = 2".into())),
            ("error", |seen| seen.error = Some(text("x.lua:1: bad"))),
            ("error", |seen| seen.error = Some(text("step budget exhausted"))),
        ];
        for (part, change) in changes {
            let mut other = seen();
            change(&mut other);
            assert_eq!(compare(seen(), other.clone()).unwrap_err().part, part);
            assert_eq!(compare(other.clone(), seen()).unwrap_err().part, part);
            assert_eq!(compare(other.clone(), other.clone()), Ok(other));
        }
    }

    #[test]
    fn what_was_cut_off_may_be_anything() {
        let cut = Seen { output: vec![Text { bytes: b"abc\xe2\x80\xa6".to_vec(), cut: Some(3) }], ..seen() };
        let whole = |line: &str| Seen { output: vec![text(line)], ..seen() };
        assert!(compare(cut.clone(), whole("abcdef")).is_ok());
        assert_eq!(compare(cut, whole("abxdef")).unwrap_err().part, "output");
    }
}
