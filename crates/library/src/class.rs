//! Classes of characters in patterns (Lua manual § 6.5.1), in the C locale.

/// What `isspace` takes, which numerals may have around them, too.
pub const SPACES: &[u8] = b" \t\n\x0b\x0c\r";

/// Whether a byte is in the class of a letter, `%a` and its like: an upper-case letter is the complement, and what is no class stands for
/// itself.
pub fn in_class(byte: u8, letter: u8) -> bool {
    let is_in = match letter.to_ascii_lowercase() {
        b'a' => byte.is_ascii_alphabetic(),
        b'c' => byte.is_ascii_control(),
        b'd' => byte.is_ascii_digit(),
        b'g' => byte.is_ascii_graphic(),
        b'l' => byte.is_ascii_lowercase(),
        b'p' => byte.is_ascii_punctuation(),
        b's' => SPACES.contains(&byte),
        b'u' => byte.is_ascii_uppercase(),
        b'w' => byte.is_ascii_alphanumeric(),
        b'x' => byte.is_ascii_hexdigit(),
        // Of older manuals, and still in the library.
        b'z' => byte == 0,
        _ => return letter == byte,
    };
    is_in != letter.is_ascii_uppercase()
}
