//! Conversion specifications of `string.format` (Lua manual § 6.5; C11 § 7.21.6.1, as far as `lstrlib.c` lets it through), and what they
//! make of known integers and strings.

/// All flags that a conversion can have.
pub const FLAGS: &[u8] = b"-+ #0";

/// A specification, taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conversion {
    pub left: bool,
    pub plus: bool,
    pub space: bool,
    pub alternate: bool,
    pub zero: bool,
    /// At most 99, as `precision`.
    pub width: i64,
    pub precision: Option<i64>,
    pub letter: u8,
}

impl Conversion {
    /// What stands behind the `%`: flags (of those given), a width and a precision, if there may be one, of at most two digits each, and
    /// the letter (`checkformat`).
    pub fn parse(written: &[u8], flags: &[u8], precise: bool) -> Option<Conversion> {
        let mut conversion = Conversion::default();
        let count = written.iter().take_while(|byte| flags.contains(byte)).count();
        for flag in &written[..count] {
            match flag {
                b'-' => conversion.left = true,
                b'+' => conversion.plus = true,
                b' ' => conversion.space = true,
                b'#' => conversion.alternate = true,
                _ => conversion.zero = true,
            }
        }
        let mut rest = &written[count..];
        if rest.first() != Some(&b'0') {
            conversion.width = two_digits(&mut rest);
            if precise && let Some(after) = rest.strip_prefix(b".") {
                rest = after;
                conversion.precision = Some(two_digits(&mut rest));
            }
        }
        match rest {
            [letter] if letter.is_ascii_alphabetic() => Some(Conversion { letter: *letter, ..conversion }),
            _ => None,
        }
    }

    /// Whether it makes what `tostring` makes of an integer.
    pub fn is_plain(&self) -> bool {
        *self == Conversion { letter: b'd', ..Conversion::default() }
            || *self == Conversion { letter: b'i', ..Conversion::default() }
    }

    pub fn is_signed(&self) -> bool {
        matches!(self.letter, b'd' | b'i')
    }

    pub fn base(&self) -> i64 {
        match self.letter {
            b'o' => 8,
            b'x' | b'X' => 16,
            _ => 10,
        }
    }

    /// The least number of digits: `%#o` always has one, a 0.
    pub fn digits(&self) -> Option<i64> {
        self.precision
            .map(|precision| if self.alternate && self.letter == b'o' { precision.max(1) } else { precision })
    }

    /// The width that is filled with zeros.
    pub fn zero_width(&self) -> i64 {
        if self.zero && !self.left && self.precision.is_none() { self.width } else { 0 }
    }

    /// The text of an integer.
    pub fn integer(&self, value: i64) -> Vec<u8> {
        let mut digits = match self.letter {
            b'd' | b'i' => value.unsigned_abs().to_string(),
            b'o' => format!("{value:o}"),
            b'x' => format!("{value:x}"),
            b'X' => format!("{value:X}"),
            _ => (value as u64).to_string(),
        };
        if self.digits() == Some(0) && value == 0 {
            digits.clear();
        }
        let mut prefix = match self.letter {
            b'd' | b'i' if value < 0 => "-",
            b'd' | b'i' if self.plus => "+",
            b'd' | b'i' if self.space => " ",
            b'x' if self.alternate && value != 0 => "0x",
            b'X' if self.alternate && value != 0 => "0X",
            _ => "",
        };
        let least = self.digits().unwrap_or(self.zero_width() - prefix.len() as i64).max(0) as usize;
        if self.letter == b'o' && self.alternate && value != 0 && digits.len() >= least {
            prefix = "0";
        }
        self.padded(format!("{prefix}{digits:0>least$}").into_bytes())
    }

    /// A string, cut and padded.
    pub fn text(&self, text: &[u8]) -> Vec<u8> {
        let most = self.precision.map_or(text.len(), |precision| text.len().min(precision as usize));
        self.padded(text[..most].to_vec())
    }

    /// A text, padded with spaces.
    pub fn padded(&self, mut text: Vec<u8>) -> Vec<u8> {
        let missing = (self.width as usize).saturating_sub(text.len());
        let at = if self.left { text.len() } else { 0 };
        text.splice(at..at, std::iter::repeat_n(b' ', missing));
        text
    }
}

/// Takes up to two decimal digits off the front.
fn two_digits(text: &mut &[u8]) -> i64 {
    let count = text.iter().take(2).take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = text.split_at(count);
    *text = rest;
    digits.iter().fold(0, |value, digit| value * 10 + i64::from(digit - b'0'))
}
