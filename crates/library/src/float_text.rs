//! Texts of floats: what `tostring` makes of them (`tostringbuffFloat` in lobject.c), and the conversions of `string.format` (C11 § 7.21.6.1).

use crate::conversion::Conversion;

/// What `tostring` makes of a float: 15 digits where they say which float it is, else 17, and `.0` behind what looks like an integer.
pub fn float_text(x: f64) -> String {
    let with = |digits| {
        Conversion { letter: b'g', precision: Some(digits), ..Conversion::default() }.float_string(x)
    };
    let short = with(15);
    let text = if short.parse() == Ok(x) { short } else { with(17) };
    match text.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit()) {
        true => text + ".0",
        false => text,
    }
}

impl Conversion {
    /// The text of a float, by one of the conversions `a`, `e`, `f` and `g`, or one of those in upper case.
    pub fn float(&self, x: f64) -> Vec<u8> {
        self.padded(self.float_string(x).into_bytes())
    }

    fn float_string(&self, x: f64) -> String {
        let (magnitude, sign) = (x.abs(), self.sign_of(x));
        let (mut prefix, mut digits) = (sign, String::new());
        match self.letter.to_ascii_lowercase() {
            _ if x.is_nan() => digits.push_str("nan"),
            _ if x.is_infinite() => digits.push_str("inf"),
            b'a' => {
                prefix.push_str("0x");
                digits = self.hexadecimal(magnitude);
            }
            b'e' => digits = self.exponential(magnitude, self.float_precision()),
            b'f' => digits = self.fixed(magnitude, self.float_precision()),
            _ => digits = self.general(magnitude),
        }
        let width = if self.zero && !self.left && x.is_finite() { self.width as usize } else { 0 };
        let zeros = "0".repeat(width.saturating_sub(prefix.len() + digits.len()));
        let text = format!("{prefix}{zeros}{digits}");
        if self.letter.is_ascii_uppercase() { text.to_ascii_uppercase() } else { text }
    }

    fn sign_of(&self, x: f64) -> String {
        match x.is_sign_negative() {
            true => "-".into(),
            false if self.plus => "+".into(),
            false if self.space => " ".into(),
            false => String::new(),
        }
    }

    fn float_precision(&self) -> usize {
        self.precision.unwrap_or(6) as usize
    }

    /// Digits behind the point, which stands there for `#` if there are none.
    fn fixed(&self, x: f64, precision: usize) -> String {
        let point = if precision == 0 && self.alternate { "." } else { "" };
        format!("{x:.precision$}{point}")
    }

    fn exponential(&self, x: f64, precision: usize) -> String {
        let (mantissa, exponent) = decimal(x, precision);
        let point = if precision == 0 && self.alternate { "." } else { "" };
        format!("{mantissa}{point}{}", exponent_text(exponent))
    }

    /// As `e` or as `f`, without zeros at the end.
    fn general(&self, x: f64) -> String {
        let digits = self.float_precision().max(1);
        let (mantissa, exponent) = decimal(x, digits - 1);
        let most = i32::try_from(digits).unwrap_or(i32::MAX);
        if exponent < -4 || exponent >= most {
            let mantissa =
                if self.alternate { self.exponential(x, digits - 1) } else { without_zeros(mantissa) };
            return if self.alternate { mantissa } else { mantissa + &exponent_text(exponent) };
        }
        let text = self.fixed(x, (most - 1 - exponent) as usize);
        if self.alternate { text } else { without_zeros(text) }
    }

    /// As glibc has it: a digit before the point, 1 but for what is below the least normal float, and as many behind it as are needed.
    fn hexadecimal(&self, x: f64) -> String {
        const FRACTION: u32 = 52;
        let bits = x.to_bits();
        let (biased, fraction) = ((bits >> FRACTION) as i32, bits & ((1 << FRACTION) - 1));
        let mut significand = fraction | u64::from(biased != 0) << FRACTION;
        let exponent = if x == 0.0 { 0 } else { biased.max(1) - 1023 };
        let mut count = 13;
        match self.precision {
            None => {
                while count > 0 && significand & 0xf << (FRACTION - 4 * count) == 0 {
                    count -= 1;
                }
            }
            Some(precision) if precision < 13 => {
                count = precision as u32;
                let dropped = FRACTION - 4 * count;
                let half = (1 << (dropped - 1)) - 1 + (significand >> dropped & 1);
                significand = ((significand + half) >> dropped) << dropped;
            }
            Some(_) => {}
        }
        let first = significand >> FRACTION;
        let digits = format!("{:013x}", significand & ((1 << FRACTION) - 1));
        let zeros = self.precision.map_or(0, |precision| (precision as usize).saturating_sub(13));
        let point = if count > 0 || zeros > 0 || self.alternate { "." } else { "" };
        format!("{first}{point}{}{}p{exponent:+}", &digits[..count as usize], "0".repeat(zeros))
    }
}

/// A float that is not negative as a digit and as many behind the point, and its exponent of ten.
fn decimal(x: f64, precision: usize) -> (String, i32) {
    let text = format!("{x:.precision$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    (mantissa.to_string(), exponent.parse().unwrap_or(0))
}

fn exponent_text(exponent: i32) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("e{sign}{:02}", exponent.unsigned_abs())
}

fn without_zeros(text: String) -> String {
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text,
    }
}
