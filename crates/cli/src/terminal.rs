//! Standard output and error as a person sees them.

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::borrow::Cow;
use std::io::IsTerminal;
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

/// Whether a line can be written to standard error without waiting for somebody to read it.
pub fn error_takes_text() -> bool {
    let error = std::io::stderr();
    let mut wanted = [PollFd::new(error.as_fd(), PollFlags::POLLOUT)];
    poll(&mut wanted, PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
}

fn spelled_out(text: &[u8]) -> Cow<'_, [u8]> {
    if !(0..text.len()).any(|at| is_command(text, at)) {
        return Cow::Borrowed(text);
    }
    let mut shown = Vec::with_capacity(text.len() + 16);
    for (at, byte) in text.iter().enumerate() {
        if is_command(text, at) {
            shown.extend(byte.escape_ascii());
        } else {
            shown.push(*byte);
        }
    }
    Cow::Owned(shown)
}

/// Whether the byte there is a control character, or one of the two bytes that UTF-8 has for U+0080 to U+009F.
fn is_command(text: &[u8], at: usize) -> bool {
    let is_long = |pair: Option<&[u8]>| matches!(pair, Some([0xc2, 0x80..=0x9f]));
    let before = at.checked_sub(1).and_then(|before| text.get(before..=at));
    let is_short = text[at].is_ascii_control() && !b"\t\n".contains(&text[at]);
    is_short || is_long(text.get(at..at + 2)) || is_long(before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_to_the_terminal_are_spelled_out() {
        assert_eq!(&*spelled_out(b"a\x1b[2Jb\x07\tc\n"), b"a\\x1b[2Jb\\x07\tc\n");
        assert_eq!(&*spelled_out("ü\u{9b}2J".as_bytes()), b"\xc3\xbc\\xc2\\x9b2J");
        assert!(matches!(spelled_out("grün\t".as_bytes()), Cow::Borrowed(_)));
    }
}
