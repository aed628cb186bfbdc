//! Standard output and error as a person sees them.

use moonhook_diagnostic::is_command;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::borrow::Cow;
use std::fmt::Display;
use std::io::{IsTerminal, Write};
use std::os::fd::AsFd;

/// Whether colours may be used (<https://no-color.org>).
pub fn colour_wanted() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Text that packets may have had a hand in, for standard output: on a terminal, control characters other than tabs are
/// spelled out, since some of them are commands to it. Files and pipes get the bytes as they are.
pub fn printable(text: &[u8]) -> Cow<'_, [u8]> {
    if std::io::stdout().is_terminal() { spelled_out(text) } else { Cow::Borrowed(text) }
}

/// The same for a string that goes to standard error.
pub fn printable_error(text: &[u8]) -> Cow<'_, [u8]> {
    if std::io::stderr().is_terminal() { spelled_out(text) } else { Cow::Borrowed(text) }
}

/// A line for standard error. Where it cannot be written, nobody is there to be told, and the exit code says how it went all the same.
pub fn complain(line: impl Display) {
    say(format!("{line}\n").as_bytes());
}

/// Bytes for standard error, as [`complain`] writes lines.
pub fn say(text: &[u8]) {
    let _ = std::io::stderr().write_all(text);
}

/// Whether a line can be written to standard error without waiting for somebody to read it.
pub fn error_takes_text() -> bool {
    let error = std::io::stderr();
    let mut wanted = [PollFd::new(error.as_fd(), PollFlags::POLLOUT)];
    poll(&mut wanted, PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
}

fn spelled_out(text: &[u8]) -> Cow<'_, [u8]> {
    if !text.utf8_chunks().any(|chunk| chunk.valid().contains(is_command)) {
        return Cow::Borrowed(text);
    }
    let mut shown = Vec::with_capacity(text.len() + 16);
    for chunk in text.utf8_chunks() {
        for c in chunk.valid().chars() {
            let mut bytes = [0; 4];
            let bytes = c.encode_utf8(&mut bytes).as_bytes();
            match is_command(c) {
                true => shown.extend(bytes.escape_ascii()),
                false => shown.extend(bytes),
            }
        }
        shown.extend(chunk.invalid());
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_to_the_terminal_are_spelled_out() {
        assert_eq!(&*spelled_out(b"a\x1b[2Jb\x07\tc\n"), b"a\\x1b[2Jb\\x07\tc\n");
        assert_eq!(&*spelled_out("ü\u{9b}2J".as_bytes()), b"\xc3\xbc\\xc2\\x9b2J");
        assert_eq!(&*spelled_out("a\u{202e}b".as_bytes()), b"a\\xe2\\x80\\xaeb");
        assert_eq!(&*spelled_out(b"\xff\x1b"), b"\xff\\x1b");
        assert!(matches!(spelled_out("grün\t".as_bytes()), Cow::Borrowed(_)));
    }
}
