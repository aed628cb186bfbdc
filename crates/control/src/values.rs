//! Values of per-CPU tables: one for readers, and one for each CPU.

use moonhook_schema::{Datum, Schema, SchemaError, decode_value, encode_value};
use std::sync::atomic::{AtomicU64, Ordering};

/// The value of an entry whose bytes are those of all CPUs: integers are sums, anything else is that of the first CPU that has
/// it. With a lifetime, CPUs where the time is over at `now` have nothing; `None` if that are all.
pub(crate) fn merged(schema: &Schema, bytes: &[u8], now: u64) -> Option<Datum> {
    let values = bytes.chunks_exact(schema.value_size()).map(|bytes| decode_value(schema, bytes));
    let alive = values.filter(|(deadline, _)| schema.lifetime.is_none() || *deadline > now);
    alive.map(|(_, value)| value).reduce(add)
}

fn add(sum: Datum, value: Datum) -> Datum {
    match (sum, value) {
        // On the first CPUs nothing was assigned.
        (Datum::Nil, value) => value,
        (Datum::Integer(a), Datum::Integer(b)) => Datum::Integer(a.wrapping_add(b)),
        (Datum::Record(mut fields), Datum::Record(more)) => {
            for (name, value) in more {
                match fields.binary_search_by(|(known, _)| known.cmp(&name)) {
                    Ok(at) => {
                        let known = std::mem::replace(&mut fields[at].1, Datum::Nil);
                        fields[at].1 = add(known, value);
                    }
                    Err(at) => fields.insert(at, (name, value)),
                }
            }
            Datum::Record(fields)
        }
        (sum, _) => sum,
    }
}

/// The bytes of a value for `cpus` CPUs: the first has it, the others have it with 0 for its integers, so that the sum is
/// the value.
pub(crate) fn spread(
    schema: &Schema,
    value: &Datum,
    deadline: u64,
    cpus: usize,
) -> Result<Vec<u8>, SchemaError> {
    let mut bytes = encode_value(schema, value, deadline)?;
    schema.put_version(&mut bytes, next_version());
    if cpus > 1 {
        let other = encode_value(schema, &without_integers(value), deadline)?;
        bytes.extend(other.repeat(cpus - 1));
    }
    Ok(bytes)
}

/// A version that no assignment had lately, here or in the handlers, where it is random.
fn next_version() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    (u64::from(std::process::id()) << 32).wrapping_add(number).wrapping_mul(SPREAD)
}

fn without_integers(value: &Datum) -> Datum {
    match value {
        Datum::Integer(_) => Datum::Integer(0),
        Datum::Record(fields) => Datum::Record(
            fields.iter().map(|(name, value)| (name.clone(), without_integers(value))).collect(),
        ),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use moonhook_schema::{Field, Type, WhenFull};

    #[test]
    fn each_assignment_has_a_version_of_its_own() {
        let field = Field { name: "n".into(), ty: Type::Integer };
        let schema = Schema {
            key: Type::Integer,
            value: Type::Record(vec![field]),
            capacity: 1,
            when_full: WhenFull::Error,
            lifetime: None,
            per_cpu: false,
        };
        let record = Datum::Record(vec![("n".into(), Datum::Integer(7))]);
        let versions: std::collections::BTreeSet<Vec<u8>> =
            (0..1000).map(|_| spread(&schema, &record, 0, 1).unwrap()).collect();
        assert_eq!(versions.len(), 1000);
        assert!(versions.iter().all(|bytes| decode_value(&schema, bytes).1 == record));
    }

    #[test]
    fn integers_are_summed_and_the_rest_is_kept() {
        let field = |name: &str, ty| Field { name: name.into(), ty };
        let value = Type::Record(vec![field("n", Type::Integer), field("s", Type::Text { capacity: 4 })]);
        let schema = Schema {
            key: Type::Integer,
            value,
            capacity: 1,
            when_full: WhenFull::Error,
            lifetime: Some(1),
            per_cpu: true,
        };
        let text = || ("s".to_string(), Datum::Text(b"ab".to_vec()));
        let record = Datum::Record(vec![("n".into(), Datum::Integer(7)), text()]);
        let mut bytes = spread(&schema, &record, 9, 3).unwrap();
        assert_eq!(merged(&schema, &bytes, 8), Some(record.clone()));
        assert_eq!(merged(&schema, &bytes, 9), None);
        let more = encode_value(&schema, &Datum::Record(vec![("n".into(), Datum::Integer(-2))]), 12).unwrap();
        bytes.extend(more);
        let sum = Datum::Record(vec![("n".into(), Datum::Integer(5)), text()]);
        assert_eq!(merged(&schema, &bytes, 8), Some(sum));
        let left = Datum::Record(vec![("n".into(), Datum::Integer(-2))]);
        assert_eq!(merged(&schema, &bytes, 9), Some(left.clone()));
        assert_eq!(merged(&Schema { lifetime: None, ..schema }, &bytes[..0], 9), None);
    }
}
