//! Tables that handlers share from packet to packet, most of them without declaration: counts, texts, truths and records by keys
//! of one type. What they hold after each frame is compared.

use super::scope::Sort;
use super::tree::{Expression, ExpressionKind, Statement, expr, line};
use super::{ExpressionRule, Features, Generator, Rules, StatementRule};

/// A table of the script's own.
#[derive(Clone)]
pub(super) struct Tally {
    name: String,
    key: Key,
    value: Value,
    /// Fields that records have besides.
    more: usize,
}

/// The most of them.
const MOST_FIELDS: usize = 60;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Key {
    Integer,
    Boolean,
    Text,
    Mac,
    Ip,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Value {
    Integer,
    Boolean,
    Text,
    /// `{ n = …, last = … }`.
    Record,
}

pub(super) const STATEMENTS: Rules<StatementRule> = &[
    (Features::TALLIES, 10, Generator::tally),
    (Features::TALLIES, 3, Generator::show_tally),
    (Features::TALLIES, 2, Generator::forget_tally),
    (Features::TALLIES, 1, Generator::sum_of_tally),
    (Features::TALLIES, 1, Generator::compare_entries),
];

pub(super) const INTEGERS: Rules<ExpressionRule> = &[(Features::TALLIES, 4, |it, _| {
    let (place, key) = it.integer_tally()?;
    Some(expr!(Integer, format!("({place} or $)"), key, it.constant()))
})];

impl Generator {
    /// Up to three tables.
    pub(super) fn tallies_of_load_time(&mut self) -> Vec<Statement> {
        if !self.has(Features::TALLIES) {
            return Vec::new();
        }
        (0..1 + self.random.below(3)).map(|_| self.new_tally()).collect()
    }

    fn new_tally(&mut self) -> Statement {
        let keys = [Key::Integer, Key::Integer, Key::Boolean, Key::Text, Key::Mac, Key::Ip];
        let values = [Value::Integer, Value::Integer, Value::Boolean, Value::Text, Value::Record];
        let (name, key, value) = (self.fresh("hits"), *self.random.pick(&keys), *self.random.pick(&values));
        let is_wide = value == Value::Record && self.random.once_in(3);
        let more = if is_wide { 1 + self.random.below(MOST_FIELDS) } else { 0 };
        self.tallies.push(Tally { name: name.clone(), key, value, more });
        let (key_type, first) = match key {
            Key::Integer => ("\"int\"", "[0]"),
            Key::Boolean => ("\"boolean\"", "[true]"),
            Key::Text => ("\"string:64\"", "none"),
            Key::Mac => ("\"mac\"", "[\"02:00:5e:10:00:01\"]"),
            Key::Ip => ("\"ip\"", "[\"192.0.2.7\"]"),
        };
        let (value_type, filled) = match value {
            Value::Integer => ("\"int\"".to_string(), "0".to_string()),
            Value::Boolean => ("\"boolean\"".to_string(), "false".to_string()),
            Value::Text => ("\"string:64\"".to_string(), "\"first\"".to_string()),
            Value::Record => {
                let types =
                    further(more, |at| ["\"string:8\"", "\"int\"", "\"boolean\""][at % 3].to_string());
                let values = further_values(more);
                (
                    format!("{{ n = \"int\", last = \"int\"{types} }}"),
                    format!("{{ n = 1, last = 2{values} }}"),
                )
            }
        };
        match self.random.below(4) {
            0 => line!(format!("local {name} = map {{ key = {key_type}, value = {value_type} }}")),
            1 => line!(format!("local {name} = {{ {first} = {filled} }}")),
            _ => line!(format!("local {name} = {{}}")),
        }
    }

    fn any_tally(&mut self) -> Option<Tally> {
        let usable = !self.tallies.is_empty() && !self.loading() && self.room(60);
        usable.then(|| self.random.pick(&self.tallies).clone())
    }

    fn known_tally(&mut self, value: Value) -> Option<Tally> {
        self.any_tally().filter(|tally| tally.value == value)
    }

    /// An entry of a table of integers, with a hole for the key, and the key.
    pub(super) fn integer_tally(&mut self) -> Option<(String, Expression)> {
        let tally = self.known_tally(Value::Integer)?;
        let key = self.key_of(tally.key)?;
        Some((format!("{}[$]", tally.name), key))
    }

    fn key_of(&mut self, key: Key) -> Option<Expression> {
        self.spend(10);
        let packet = self.scope.packet;
        Some(match key {
            Key::Integer => match self.random.below(3) {
                0 if packet => expr!(Integer, "(#pkt & 7)"),
                1 if packet => expr!(Integer, "(pkt:getbyte(0) & 7)"),
                _ => expr!(Integer, "($ & 15)", self.integer(1)),
            },
            Key::Boolean => self.condition(1),
            Key::Text => match self.random.below(3) {
                0 if packet => expr!(Text, "pkt:getstring(0, $)", self.small(3)),
                1 => self.constant_text(),
                _ => expr!(Text, "($ and \"tcp\" or \"udp\")", self.condition(1)),
            },
            Key::Mac if packet => {
                Expression::leaf(ExpressionKind::Text, self.one_of(&["pkt.eth.src", "pkt.eth.dst"]))
            }
            Key::Ip if packet => match self.random.once_in(3) {
                true => expr!(Text, "(pkt.ip and pkt.ip.dst or \"2001:db8::1\")"),
                false => expr!(Text, "(pkt.ip and pkt.ip.src or \"192.0.2.7\")"),
            },
            Key::Mac | Key::Ip => return None,
        })
    }

    /// Assigns an entry in one of the ways that counters and memories are written in.
    fn tally(&mut self) -> Option<Vec<Statement>> {
        let Tally { name, key, value, more } = self.any_tally()?;
        let (k, key) = (self.fresh("key"), self.key_of(key)?);
        self.spend(40);
        let place = format!("{name}[{k}]");
        let mut all = vec![line!(format!("local {k} = $"), key)];
        all.extend(match value {
            Value::Integer => self.count_entry(&place),
            Value::Boolean => vec![line!(format!("{place} = $"), self.condition(2))],
            Value::Text => {
                let text = self.short_text(2);
                vec![match self.random.once_in(2) {
                    true => line!(format!("{place} = {place} or $"), text),
                    false => line!(format!("{place} = $"), text),
                }]
            }
            Value::Record => self.change_record(&place, more),
        });
        let shown = match value {
            Value::Record if more > 0 => format!("{place}.n, {place}.last, {place}.f{more}, {place}.f1"),
            Value::Record => format!("{place}.n, {place}.last"),
            _ => place,
        };
        all.push(self.shown(vec![expr!(Any, shown)]));
        Some(vec![line!("do$end", all)])
    }

    fn count_entry(&mut self, place: &str) -> Vec<Statement> {
        let by = self.integer(1);
        match self.random.below(6) {
            0 => {
                let more = vec![line!(format!("{place} = {place} + $"), by.clone())];
                vec![line!(
                    format!("if {place} then$else$end"),
                    more,
                    vec![line!(format!("{place} = $"), by)]
                )]
            }
            1 => vec![
                line!(format!("local e = {place} or 0")),
                line!("if $ then$end", self.condition(1), vec![line!("e = e + 1")]),
                line!(format!("{place} = e ~ $"), by),
            ],
            2 => vec![line!(format!("{place} = $"), by)],
            3 => vec![line!(format!("{place} = math.max({place} or 0, $)"), by)],
            _ => vec![line!(format!("{place} = ({place} or 0) + $"), by)],
        }
    }

    fn change_record(&mut self, place: &str, more: usize) -> Vec<Statement> {
        let (by, last) = (self.integer(1), self.integer(1));
        self.spend(3 * more as u64);
        let values = further_values(more);
        match self.random.below(4) {
            0 => vec![line!(format!("{place} = {{ n = $, last = ${values} }}"), by, last)],
            1 => vec![
                line!(format!("{place} = {place} or {{ n = 0, last = ${values} }}"), last),
                line!(format!("{place}.n = {place}.n + $"), by),
            ],
            _ => {
                let changes = vec![line!("e.n = e.n + $", by), line!("e.last = $", last.clone())];
                let new = vec![line!(format!("{place} = {{ n = 1, last = ${values} }}"), last)];
                vec![line!(format!("local e = {place}")), line!("if e then$else$end", changes, new)]
            }
        }
    }

    fn show_tally(&mut self) -> Option<Vec<Statement>> {
        let Tally { name, key, value, .. } = self.any_tally()?;
        let key = self.key_of(key)?;
        let shown = match value {
            Value::Record => expr!(Any, format!("({name}[$] or {{ n = -1 }}).n"), key),
            _ => expr!(Any, format!("{name}[$]"), key),
        };
        Some(vec![self.shown(vec![shown])])
    }

    fn forget_tally(&mut self) -> Option<Vec<Statement>> {
        let Tally { name, key, .. } = self.any_tally()?;
        let key = self.key_of(key)?;
        let forget = vec![line!(format!("{name}[$] = nil"), key)];
        Some(vec![line!("if $ then$end", self.condition(1), forget)])
    }

    /// Entries are equal if they are the same one.
    fn compare_entries(&mut self) -> Option<Vec<Statement>> {
        let Tally { name, key, .. } = self.known_tally(Value::Record)?;
        let (first, second) = (self.key_of(key)?, self.key_of(key)?);
        let equal = expr!(Boolean, format!("(e == {name}[$])"), second);
        let body = vec![
            line!(format!("local e = {name}[$]"), first),
            self.shown(vec![equal, expr!(Boolean, "(e == e)"), expr!(Boolean, "(e == nil)")]),
        ];
        Some(vec![line!("do$end", body)])
    }

    /// A traversal whose order does not show.
    fn sum_of_tally(&mut self) -> Option<Vec<Statement>> {
        let Tally { name, key, .. } = self.known_tally(Value::Integer)?;
        if !self.may_nest() || self.factor > 1 || key == Key::Text || !self.room(300) {
            return None;
        }
        self.spend(200);
        let sum = self.fresh("v");
        self.scope.add(&sum, Sort::Integer, true);
        let add = line!(format!("{sum} = {sum} + count"));
        let traversal = match self.random.below(6) {
            0 => {
                let step = self.one_of(&["next", "(pairs({}))", "({ next })[1]", "_G[\"ne\" .. \"xt\"]"]);
                let go_on = line!(format!("key, count = step({name}, key)"));
                let body = vec![line!("while key do$end", vec![add, go_on])];
                line!(format!("do local step = {step} local key, count = step({name})$end"), body)
            }
            _ => line!(format!("for _, count in pairs({name}) do$end"), vec![add]),
        };
        let shown = self.shown(vec![expr!(Integer, sum)]);
        Some(vec![line!(format!("local {sum} = 0")), traversal, shown])
    }
}

/// Fields behind the first two of a record.
fn further(more: usize, value: impl Fn(usize) -> String) -> String {
    (1..=more).map(|at| format!(", f{at} = {}", value(at))).collect()
}

fn further_values(more: usize) -> String {
    further(more, |at| match at % 3 {
        0 => format!("\"t{at}\""),
        1 => at.to_string(),
        _ => (at % 2 == 0).to_string(),
    })
}
