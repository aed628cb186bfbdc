//! Values of shared tables as people and programs write them: JSON, words of a command line, fields of CSV.
//!
//! JSON has numbers (floats have a point or an exponent), booleans, strings, objects for records, null for nil; a string that is not UTF-8 is an array of its
//! bytes. A word is a number, `true`, `false`, `nil`, JSON in quotes, brackets or braces, or else the string that it is.

use moonhook_schema::Datum;
use serde_json::{Map, Value};

/// Why something is no value of a table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text} is no value of a table: {problem}")]
pub struct NoDatum {
    text: String,
    problem: String,
}

fn no_datum(text: impl ToString, problem: impl ToString) -> NoDatum {
    NoDatum { text: text.to_string(), problem: problem.to_string() }
}

/// The value in JSON.
pub fn to_json(datum: &Datum) -> Value {
    match datum {
        Datum::Nil => Value::Null,
        Datum::Boolean(boolean) => (*boolean).into(),
        Datum::Integer(integer) => (*integer).into(),
        // JSON has no infinities: these are texts.
        Datum::Float(bits) => match f64::from_bits(*bits) {
            float if float.is_finite() => float.into(),
            _ => String::from_utf8_lossy(&datum.line()).into(),
        },
        Datum::Text(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => text.into(),
            Err(_) => bytes.iter().copied().collect(),
        },
        Datum::Record(fields) => {
            fields.iter().map(|(name, datum)| (name.clone(), to_json(datum))).collect::<Map<_, _>>().into()
        }
    }
}

/// The value that JSON stands for.
///
/// # Errors
/// Numbers that are neither 64-bit integers nor floats, arrays that are not of bytes.
pub fn from_json(json: &Value) -> Result<Datum, NoDatum> {
    Ok(match json {
        Value::Null => Datum::Nil,
        Value::Bool(boolean) => Datum::Boolean(*boolean),
        Value::Number(number) => {
            let problem = || no_datum(json, "numbers are integers of 64 bits");
            match number.as_f64().filter(|_| number.is_f64()) {
                Some(float) => Datum::Float(float.to_bits()),
                None => Datum::Integer(number.as_i64().ok_or_else(problem)?),
            }
        }
        Value::String(text) => Datum::Text(text.clone().into_bytes()),
        Value::Array(bytes) => {
            let byte = |value: &Value| value.as_u64().and_then(|byte| u8::try_from(byte).ok());
            let bytes: Option<Vec<u8>> = bytes.iter().map(byte).collect();
            Datum::Text(bytes.ok_or_else(|| no_datum(json, "an array has the bytes of a string"))?)
        }
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| Ok((name.clone(), from_json(value)?));
            let mut fields = fields.iter().map(field).collect::<Result<Vec<_>, NoDatum>>()?;
            fields.retain(|(_, datum)| *datum != Datum::Nil);
            fields.sort_by(|a, b| a.0.cmp(&b.0));
            Datum::Record(fields)
        }
    })
}

/// The JSON of a word.
///
/// # Errors
/// What begins like JSON and is none, or is no value.
pub fn word(text: &str) -> Result<Value, NoDatum> {
    let integer = text.parse::<i64>().ok();
    let float = float(text);
    let json = match text {
        _ if integer.is_some() => integer.into(),
        _ if float.is_some() => float.into(),
        "true" => true.into(),
        "false" => false.into(),
        "nil" => Value::Null,
        _ if text.starts_with(['"', '{', '[']) => {
            serde_json::from_str(text).map_err(|error| no_datum(text, error))?
        }
        _ => text.into(),
    };
    from_json(&json).map(|_| json)
}

/// The float that a word is: digits with a point or an exponent, as JSON has them.
fn float(text: &str) -> Option<f64> {
    let is_number =
        text.contains(['.', 'e', 'E']) && text.starts_with(|c: char| c == '-' || c.is_ascii_digit());
    let number = serde_json::from_str::<serde_json::Number>(text).ok().filter(|_| is_number);
    number.and_then(|number| number.as_f64())
}

/// A value as a person reads it: strings bare, unless they would be read as something else. No character of it is a command to a terminal,
/// whatever packets have put into the value; [`word`] reads it all the same.
pub fn shown(json: &Value) -> String {
    let is_plain = |text: &str| !text.contains(|c: char| c.is_whitespace() || c.is_control());
    match json {
        Value::Null => "nil".to_string(),
        Value::Number(number) if number.is_f64() => {
            let bits = number.as_f64().unwrap_or_default().to_bits();
            String::from_utf8_lossy(&Datum::Float(bits).line()).into_owned()
        }
        Value::String(text) if word(text).as_ref() == Ok(json) && is_plain(text) => text.clone(),
        other => json_text(other),
    }
}

/// The value as JSON. The format leaves the control characters from U+007F on as they are; they can only be in strings.
pub fn json_text(json: &Value) -> String {
    let text = json.to_string();
    if !text.contains(char::is_control) {
        return text;
    }
    let spelled = |c: char| match c.is_control() {
        true => format!("\\u{:04x}", u32::from(c)),
        false => c.to_string(),
    };
    text.chars().map(spelled).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn words_are_what_they_look_like() {
        for (text, json) in [
            ("42", json!(42)),
            ("1.5", json!(1.5)),
            ("-2e300", json!(-2e300)),
            ("1.", json!("1.")),
            ("1.2.3", json!("1.2.3")),
            ("-1", json!(-1)),
            ("true", json!(true)),
            ("nil", json!(null)),
            ("192.0.2.1", json!("192.0.2.1")),
            ("10.0.0.0/8", json!("10.0.0.0/8")),
            ("\"42\"", json!("42")),
            ("\"\\u0000\"", json!("\0")),
            ("{\"pkts\": 3}", json!({"pkts": 3})),
            ("[255, 0]", json!([255, 0])),
            ("9223372036854775808", json!("9223372036854775808")),
            ("", json!("")),
        ] {
            assert_eq!(word(text).unwrap(), json, "{text}");
        }
        for text in ["\"x", "{1}", "[256]", "[\"a\"]", "{\"a\": 9223372036854775808}"] {
            assert!(word(text).is_err(), "{text}");
        }
    }

    #[test]
    fn nothing_shown_is_a_command_to_a_terminal() {
        for text in ["\u{1b}[2J", "a\u{7f}", "\u{9b}31m", "\u{7}", "a\nb", "grün", "x\u{2028}"] {
            for json in [json!(text), json!({ "name": text })] {
                let shown = shown(&json);
                assert!(!shown.contains(char::is_control), "{shown:?}");
                assert_eq!(word(&shown).unwrap(), json, "{shown}");
            }
        }
        assert_eq!(
            (shown(&json!("grün")), json_text(&json!(["\u{9b}"]))),
            ("grün".into(), "[\"\\u009b\"]".into())
        );
    }

    #[test]
    fn values_go_there_and_back() {
        let record =
            vec![("a".to_string(), Datum::Integer(i64::MIN)), ("b".to_string(), Datum::Boolean(false))];
        for datum in [
            Datum::Nil,
            Datum::Boolean(true),
            Datum::Integer(i64::MAX),
            Datum::Float(0.1f64.to_bits()),
            Datum::Float((-3.0f64).to_bits()),
            Datum::Float(1e300f64.to_bits()),
            Datum::Float(5e-324f64.to_bits()),
            Datum::Text(b"1.5".to_vec()),
            Datum::Text(b"gr\xc3\xbcn\0".to_vec()),
            Datum::Text(b"\xff\x00".to_vec()),
            Datum::Text(b"7".to_vec()),
            Datum::Text(b"a b".to_vec()),
            Datum::Record(record),
        ] {
            let json = to_json(&datum);
            assert_eq!(from_json(&json).unwrap(), datum);
            assert_eq!(word(&shown(&json)).unwrap(), json, "{json}");
        }
    }
}
