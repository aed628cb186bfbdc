//! Lines of bounded length from a stream.

use std::io::{self, BufRead, BufReader, Read};

/// Bytes of an oversized line that are passed over before giving the client up.
const PATIENCE: usize = 64 << 20;

/// What came over a stream.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    Whole(Vec<u8>),
    /// A line that is longer than allowed, as far as it has come; the rest of it is passed over.
    TooLong,
    /// The stream has ended, perhaps within a line.
    End,
}

/// Reads lines of at most `limit` bytes, the line end not counted.
pub struct Lines<R> {
    stream: BufReader<R>,
    limit: usize,
    /// Bytes of a line that is too long which were passed over, until its end has come.
    passing: Option<usize>,
}

impl<R: Read> Lines<R> {
    pub fn new(stream: R, limit: usize) -> Lines<R> {
        Lines { stream: BufReader::new(stream), limit, passing: None }
    }

    pub fn next(&mut self) -> io::Result<Line> {
        let mut line = Vec::new();
        loop {
            let there = self.stream.fill_buf()?;
            if there.is_empty() {
                return Ok(Line::End);
            }
            let end = there.iter().position(|byte| *byte == b'\n');
            let part = &there[..end.unwrap_or(there.len())];
            let (length, consumed) = (line.len() + part.len(), part.len() + usize::from(end.is_some()));
            let passed = self.passing.map(|passed| passed + part.len());
            if passed.is_none() && length <= self.limit {
                line.extend_from_slice(part);
            }
            self.stream.consume(consumed);
            match (end, passed) {
                (None, Some(passed)) if passed > PATIENCE => return Ok(Line::End),
                (None, Some(passed)) => self.passing = Some(passed),
                (Some(_), Some(_)) => self.passing = None,
                // Who waits for an answer before ending the line gets one.
                (end, None) if length > self.limit => {
                    self.passing = end.is_none().then_some(length);
                    return Ok(Line::TooLong);
                }
                (Some(_), None) => return Ok(Line::Whole(line)),
                (None, None) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stream that brings so many bytes at a time.
    struct Slow<'a>(&'a [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(self.0.len()).min(buffer.len());
            buffer[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    #[test]
    fn lines_end_where_they_end_however_they_come() {
        let text = b"one\n\nfour4\nfive55\n1234567890\nlast\nrest";
        let whole = |text: &[u8]| Line::Whole(text.to_vec());
        for step in 1..text.len() {
            let mut lines = Lines::new(Slow(text, step), 5);
            let expected = [
                whole(b"one"),
                whole(b""),
                whole(b"four4"),
                Line::TooLong,
                Line::TooLong,
                whole(b"last"),
                Line::End,
            ];
            for line in expected {
                assert_eq!(lines.next().unwrap(), line, "step {step}");
            }
        }
    }

    #[test]
    fn an_endless_line_is_given_up() {
        let mut lines = Lines::new(io::repeat(b'x'), 1000);
        assert_eq!(lines.next().unwrap(), Line::TooLong);
        assert_eq!(lines.next().unwrap(), Line::End);
    }
}
