//! Keys: what packets of a flow have in common, as values that people write and as the words that are compared.

use crate::field::{Field, FieldKind, KeyValue};
use crate::layout::MOST_KEYS;

/// What keys of a table are made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// Fields of the packet, in order. Addresses are two words, MAC addresses one, of the other fields as many as fit share one, the first
    /// one in the lowest bits.
    Fields(Vec<Field>),
    /// The values that a function of the script gives, [`MOST_VALUES`] at most: a word that says of what type each is, four bits each, then two
    /// words of each.
    Values,
}

/// Values of a key of [`KeyKind::Values`], at most.
pub const MOST_VALUES: usize = 4;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    #[error("a key has {expected} values, and here are {got}")]
    Count { expected: usize, got: usize },
    #[error("`{text}` is no {expected}")]
    Value { text: String, expected: String },
    #[error("a key has from one to four values, and here are {got}")]
    TooMany { got: usize },
    #[error("there is no `{name}` in the key, which has {names}")]
    NoSuchField { name: String, names: String },
    #[error("`{name}` is there twice")]
    Twice { name: String },
    #[error("the key has no `{name}`")]
    Missing { name: &'static str },
}

impl KeyKind {
    /// Addresses and ports of both ends, and the protocol.
    pub fn five_tuple() -> KeyKind {
        let names = ["src", "dst", "proto", "sport", "dport"];
        KeyKind::Fields(names.into_iter().filter_map(Field::named).collect())
    }

    /// How many words keys have; more than [`MOST_KEYS`] are not possible.
    pub fn words(&self) -> usize {
        match self {
            KeyKind::Values => 1 + 2 * MOST_VALUES,
            KeyKind::Fields(_) => {
                let words = |kind: &FieldKind| if *kind == FieldKind::Address { 2 } else { 1 };
                self.arguments().iter().map(words).sum()
            }
        }
    }

    /// What handlers are to give for a key of fields: its addresses and, in the place of all numbers that share a word, that word.
    pub fn arguments(&self) -> Vec<FieldKind> {
        let KeyKind::Fields(fields) = self else { return Vec::new() };
        let (mut arguments, mut left) = (Vec::new(), 0);
        for field in fields {
            match field.kind {
                FieldKind::Number(bits) if bits <= left => left -= bits,
                FieldKind::Number(bits) => {
                    left = 64 - bits;
                    arguments.push(FieldKind::Number(64));
                }
                kind => arguments.push(kind),
            }
        }
        arguments
    }

    /// Whether a table can have such keys: they are not too long.
    pub fn is_possible(&self) -> bool {
        (1..=MOST_KEYS).contains(&self.words())
    }

    /// The words of a key.
    ///
    /// # Errors
    /// `Count`, `Value`, `TooMany`.
    pub fn encode(&self, values: &[KeyValue]) -> Result<Vec<u64>, KeyError> {
        match self {
            KeyKind::Values => {
                if !(1..=MOST_VALUES).contains(&values.len()) {
                    return Err(KeyError::TooMany { got: values.len() });
                }
                let code = |(number, value): (usize, &KeyValue)| value.code() << (4 * number);
                let mut words = vec![values.iter().enumerate().map(code).sum()];
                for value in values {
                    match value.words()[..] {
                        [one] => words.extend([0, one]),
                        ref both => words.extend(both),
                    }
                }
                words.resize(self.words(), 0);
                Ok(words)
            }
            KeyKind::Fields(fields) => {
                if fields.len() != values.len() {
                    return Err(KeyError::Count { expected: fields.len(), got: values.len() });
                }
                let (mut words, mut packed) = (Vec::new(), None);
                for (field, value) in fields.iter().zip(values) {
                    let own = field.checked(*value)?.words();
                    place(field, &mut words, &mut packed, &own);
                }
                Ok(words)
            }
        }
    }

    /// The values of a key; nothing where these are no words of a key.
    pub fn decode(&self, words: &[u64]) -> Vec<KeyValue> {
        let mut rest = words.iter().copied();
        let mut next = || rest.next().unwrap_or_default();
        match self {
            KeyKind::Values => {
                let codes = next();
                let mut values = Vec::new();
                for number in 0..MOST_VALUES {
                    let (high, low) = (next(), next());
                    values.push(match codes >> (4 * number) & 15 {
                        KeyValue::INTEGER => KeyValue::Integer(low as i64),
                        KeyValue::ADDRESS => KeyValue::address(high, low),
                        KeyValue::MAC => KeyValue::Mac(low),
                        _ => break,
                    });
                }
                values
            }
            KeyKind::Fields(fields) => {
                let (mut word, mut used) = (0, 64);
                let values = fields.iter().map(|field| match field.kind {
                    FieldKind::Address => KeyValue::address(next(), next()),
                    FieldKind::Mac => KeyValue::Mac(next()),
                    FieldKind::Number(bits) => {
                        if used + bits > 64 {
                            (word, used) = (next(), 0);
                        }
                        let number = word >> used & ((1 << bits) - 1);
                        used += bits;
                        KeyValue::Integer(number as i64)
                    }
                });
                values.collect()
            }
        }
    }

    /// A key from what a person has written: `src=10.0.0.1,dport=53` in any order, or the values alone in the order of the fields.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(&self, text: &str) -> Result<Vec<KeyValue>, KeyError> {
        let parts: Vec<&str> = text.split(',').map(str::trim).collect();
        let KeyKind::Fields(fields) = self else {
            return parts.into_iter().map(KeyValue::parse).collect();
        };
        if !text.contains('=') {
            if parts.len() != fields.len() {
                return Err(KeyError::Count { expected: fields.len(), got: parts.len() });
            }
            return fields.iter().zip(parts).map(|(field, part)| field.parse(part)).collect();
        }
        let named: Vec<(&str, &str)> =
            parts.iter().map(|part| part.split_once('=').unwrap_or((*part, ""))).collect();
        if let Some((name, _)) = named.iter().find(|(name, _)| fields.iter().all(|field| field.name != *name))
        {
            return Err(self.no_such_field(name));
        }
        let is_twice =
            |(at, (name, _)): (usize, &(&str, &str))| named[..at].iter().any(|(other, _)| other == name);
        if let Some(at) = named.iter().enumerate().position(is_twice) {
            return Err(KeyError::Twice { name: named[at].0.to_string() });
        }
        let value = |field: &Field| {
            let found = named.iter().find(|(name, _)| *name == field.name);
            let (_, text) = found.ok_or(KeyError::Missing { name: field.name })?;
            field.parse(text)
        };
        fields.iter().map(value).collect()
    }

    /// The words of a key that a person has written ([`KeyKind::parse`]).
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn words_of(&self, text: &str) -> Result<Vec<u64>, KeyError> {
        self.parse(text).and_then(|values| self.encode(&values))
    }

    pub fn no_such_field(&self, name: &str) -> KeyError {
        KeyError::NoSuchField { name: name.to_string(), names: self.names() }
    }

    /// What keys consist of, as a person reads it.
    pub fn names(&self) -> String {
        match self {
            KeyKind::Values => "the values of a function".to_string(),
            KeyKind::Fields(fields) => {
                fields.iter().map(|field| format!("`{}`", field.name)).collect::<Vec<_>>().join(", ")
            }
        }
    }

    /// A key as [`KeyKind::parse`] takes it.
    pub fn text(&self, values: &[KeyValue]) -> String {
        let text = |(number, value): (usize, &KeyValue)| match self {
            KeyKind::Values => value.to_string(),
            KeyKind::Fields(fields) => {
                format!("{}={value}", fields.get(number).map_or("?", |field| field.name))
            }
        };
        values.iter().enumerate().map(text).collect::<Vec<_>>().join(",")
    }
}

/// Adds a field's own words to those of a key; of numbers, `packed` has the word that they are put into and how many bits it has.
fn place(field: &Field, words: &mut Vec<u64>, packed: &mut Option<(usize, u32)>, own: &[u64]) {
    let FieldKind::Number(bits) = field.kind else { return words.extend(own) };
    let (at, used) = packed.filter(|(_, used)| used + bits <= 64).unwrap_or_else(|| {
        words.push(0);
        (words.len() - 1, 0)
    });
    words[at] |= own[0] << used;
    *packed = Some((at, used + bits));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field_names;

    fn fields(names: &[&str]) -> KeyKind {
        KeyKind::Fields(names.iter().filter_map(|name| Field::named(name)).collect())
    }

    #[test]
    fn keys_are_read_as_they_were_written() {
        let every: Vec<&str> = field_names().collect();
        let cases = [
            (KeyKind::five_tuple(), "src=10.0.0.1,dst=fe80::1,proto=17,sport=1,dport=65535"),
            (fields(&["src"]), "src=::"),
            (fields(&["dport", "src", "vlan"]), "dport=53,src=10.0.0.1,vlan=4095"),
            (fields(&["smac", "proto", "dmac"]), "smac=02:00:00:00:00:01,proto=0,dmac=ff:ff:ff:ff:ff:ff"),
            (KeyKind::Values, "-1,10.0.0.1,7,fe80::1"),
            (KeyKind::Values, "fe80::1,::2"),
            (KeyKind::Values, "02:00:00:00:00:01"),
        ];
        for (kind, text) in cases {
            let values = kind.parse(text).unwrap();
            let words = kind.encode(&values).unwrap();
            assert_eq!((words.len(), kind.decode(&words)), (kind.words(), values.clone()), "{text}");
            assert_eq!(kind.text(&values), text);
        }
        assert!(fields(&every).is_possible() && !fields(&["src"; 5]).is_possible());
    }

    #[test]
    fn words_are_those_that_handlers_compute() {
        let kind = KeyKind::five_tuple();
        let values = kind.parse("10.0.0.1, 10.0.0.2, udp, 1000, 53").unwrap();
        let packed = 17 | 1000 << 8 | 53 << 24;
        assert_eq!(kind.encode(&values).unwrap(), [0, 0xffff_0a00_0001, 0, 0xffff_0a00_0002, packed]);
        let values = KeyKind::Values.parse("7,10.0.0.1").unwrap();
        assert_eq!(KeyKind::Values.encode(&values).unwrap(), [0x21, 0, 7, 0, 0xffff_0a00_0001, 0, 0, 0, 0]);
    }

    #[test]
    fn what_is_no_key_says_why() {
        let five = KeyKind::five_tuple();
        let said = |kind: &KeyKind, text: &str| {
            kind.parse(text).and_then(|values| kind.encode(&values)).unwrap_err().to_string()
        };
        assert_eq!(said(&five, "10.0.0.1"), "a key has 5 values, and here are 1");
        let sport = "src=1.1.1.1,dst=1.1.1.1,proto=6,sport=70000,dport=1";
        assert_eq!(said(&five, sport), "`70000` is no number from 0 to 65535");
        assert_eq!(said(&five, "src=x"), "`x` is no IP address");
        assert_eq!(
            said(&fields(&["src", "dport"]), "src=::,dport=1,x=2"),
            "there is no `x` in the key, which has `src`, `dport`"
        );
        assert_eq!(said(&fields(&["src", "dport"]), "src=::"), "the key has no `dport`");
        assert!(said(&KeyKind::Values, "1,2,3,4,5").contains("from one to four values"));
        assert!(said(&KeyKind::Values, "hello").contains("`hello` is no integer, IP"));
    }
}
