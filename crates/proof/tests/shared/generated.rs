//! Counts that two CPUs make at once, put together of the ways in which scripts write them: each kind of key, each place in a value,
//! each way of making the entry and of adding to it. `MOONHOOK_SUMS=N` tries every N-th of them; 1 are all.

use crate::counts::counted;
use crate::support::few;
use moonhook_engine::Form;
use moonhook_proof::host;

/// Types of keys, and keys; `new` is another number every few packets.
const KEYS: [(&str, &str); 6] = [
    ("'int'", "new"),
    ("'ip'", "k"),
    ("'string:8'", "tostring(new)"),
    ("{ a = 'int', b = 'ip' }", "{ a = new, b = k }"),
    ("'int'", "(pkt.udp and new or 0)"),
    ("'string:12'", "('n' .. new)"),
];

/// Types of values, what a new one is, and a place in it; the place has no value in some of them until something is counted. Lists
/// have no general form.
const PLACES: [(&str, &str, &str, bool); 11] = [
    ("'int'", "", "t[K]", true),
    ("{ n = 'int' }", "{ n = 0 }", "t[K].n", true),
    ("{ n = 'int', m = 'int' }", "{ n = 0 }", "t[K].m", true),
    ("{ s = { n = 'int' } }", "{ s = { n = 0 } }", "t[K].s.n", true),
    ("{ s = { n = 'int', m = 'int' } }", "{ s = { n = 0 } }", "t[K].s.m", true),
    ("{ name = 'string:8', n = 'int' }", "{ name = 'some' }", "t[K].n", true),
    (LIST, "{ 0 }", "t[K][4]", false),
    (LIST, "{ 0 }", "t[K][i]", false),
    (LIST, "{ 0, 0, 0, 0, 0, 0 }", "t[K][i]", false),
    ("{ l = { 'int', 'int', 'int', 'int', 'int', 'int' } }", "{ l = { 0 } }", "t[K].l[i]", false),
    ("{ l = { 'int', 'int', 'int', 'int', 'int', 'int' } }", "{ l = { 0 } }", "t[K].l[6]", false),
];
const LIST: &str = "{ 'int', 'int', 'int', 'int', 'int', 'int' }";

const OPTIONS: [&str; 4] = ["", ", ttl = 1000", ", evict = 'lru'", ", ttl = 1000, evict = 'lru'"];

/// How an entry is made that is not there, of key `K` and new value `V`; `R` is what holds the entry then.
const MADE: [(&str, &str); 5] = [
    ("t[K] = t[K] or V", "t[K]"),
    ("if not t[K] then t[K] = V end", "t[K]"),
    ("if t[K] == nil then t[K] = V end local r = t[K]", "r"),
    ("local r = t[K] if not r then r = V t[K] = r end", "r"),
    ("local new = V if not t[K] then t[K] = new end local r = t[K]", "r"),
];

/// How 1 is added at place `P`, which is nil at first; that are fields of one record `C`, by name `F`, in the last ones.
const ADDED: [&str; 6] = [
    "P = (P or 0) + 1",
    "P = 1 + (P or 0)",
    "local v = P or 0 P = v + 1",
    "local v = P if v then P = v + 1 else P = 1 end",
    "if P then P = P + 1 else P = 1 end",
    "local c = C cF = (cF or 0) + 1",
];

/// A declaration, what a packet does, and whether general code has it.
fn ways() -> Vec<(String, String, bool)> {
    let mut ways = Vec::new();
    for (ty, key) in KEYS {
        for (value, new, place, general) in PLACES {
            for options in OPTIONS {
                for (made, held) in MADE {
                    for added in ADDED {
                        let declaration =
                            format!("t = map {{ key = {ty}, value = {value}, capacity = 100000{options} }}");
                        let is_plain = new.is_empty();
                        let within = place.rfind(['.', '[']).filter(|_| !is_plain);
                        if is_plain && (held == "r" || added.contains('C')) {
                            continue;
                        }
                        let own = place.replace("t[K]", held);
                        let (container, field) = match within {
                            Some(at) => own.split_at(own.len() - (place.len() - at)),
                            None => (own.as_str(), ""),
                        };
                        let added = added.replace('P', &own).replace('C', container).replace('F', field);
                        let made = if is_plain { String::new() } else { made.replace('V', new) };
                        let body = format!("local key = {key} {made} {added}").replace("[K]", "[key]");
                        // Tables as keys have no general form either.
                        ways.push((declaration, body, general && !ty.starts_with('{')));
                    }
                }
            }
        }
    }
    ways
}

#[test]
fn no_generated_count_is_lost() {
    if !host::kernel_available("shared tables") {
        return;
    }
    let ways = ways();
    // No divisor of the numbers of choices: all of each kind come.
    let step = usize::try_from(host::setting("MOONHOOK_SUMS", 97)).unwrap().max(1);
    let (mut tried, mut lost) = (0, Vec::new());
    for (declaration, body, general) in ways.iter().step_by(step) {
        for form in [Form::Expanded, Form::General] {
            if form == Form::General && !general {
                continue;
            }
            tried += 1;
            match counted(form, declaration, body) {
                Ok(found) if found == 2 * i64::from(few()) => {}
                Ok(found) => lost.push(format!("{form:?}: {found}: {declaration} {body}")),
                Err(error) => lost.push(format!("{form:?}: {error}: {declaration} {body}")),
            }
        }
    }
    println!("{tried} of {} ways", ways.len());
    assert!(
        tried > 0 && lost.is_empty(),
        "{} of {tried} have not {}:\n{}",
        lost.len(),
        2 * few(),
        lost.join("\n")
    );
}
