//! Flow tables (docs/flows.md): what load time makes of them, functions that it sets for keys which some frames have, and what these
//! have in common with handlers.
//!
//! A table is calm or wild. Functions of calm ones have no errors and always return a number; wild ones have any function.

use super::scope::Sort;
use super::tree::{Statement, line};
use super::{Features, Generator, WORK_OF_HELPER};

/// A table of the script's own.
#[derive(Clone)]
pub(super) struct FlowTable {
    pub name: String,
    /// Its functions have no errors.
    pub calm: bool,
    /// It may answer with what is no number: no flow has the key, and it has no default.
    pub may_be_nil: bool,
}

/// How keys are made, and keys that frames have, or not (crates/user/tests/common/frames.rs); `$` is an integer.
const KINDS: [(&str, &[&str]); 14] = [
    ("\"proto\"", &["6", "17", "1", "58", "47", "132"]),
    ("{ \"proto\" }", &["{ proto = \"udp\" }", "{ proto = 6 }", "\"icmp\"", "{ 58 }", "\"icmpv6\""]),
    ("\"dport\"", &["443", "53", "4789", "{ dport = 67 }", "0"]),
    ("\"src\"", &["\"192.0.2.7\"", "\"2001:db8::1\"", "{ src = \"10.0.0.1\" }"]),
    ("\"vlan\"", &["42", "7", "{ vlan = 0 }"]),
    (
        "{ \"proto\", \"dport\" }",
        &["{ proto = \"udp\", dport = 53 }", "{ 6, 443 }", "\"tcp,443\"", "{ dport = 4789, proto = 17 }"],
    ),
    (
        "{ \"src\", \"dport\" }",
        &["\"192.0.2.7,53\"", "{ src = \"192.0.2.7\", dport = 443 }", "\"2001:db8::1,443\""],
    ),
    (
        "{ \"smac\", \"dmac\" }",
        &[
            "\"02:00:00:00:00:0a,52:54:00:12:34:56\"",
            "{ smac = \"02:00:00:00:00:0b\", dmac = \"52:54:00:12:34:56\" }",
        ],
    ),
    (
        "\"5tuple\"",
        &[
            "\"192.0.2.7,198.51.100.1,udp,5353,53\"",
            "\"192.0.2.7,198.51.100.1,tcp,49152,443\"",
            "\"192.0.2.7,198.51.100.1,icmp,0,0\"",
            "\"2001:db8::1,2001:db8:1::2,tcp,49152,443\"",
        ],
    ),
    ("function(pkt) return #pkt & 3 end", &["0", "1", "2", "3"]),
    ("function(pkt) return $ & 3 end", &["0", "1", "2", "3"]),
    (
        "function(pkt) local ip = pkt.ip if ip then return ip.proto, nil, #pkt end end",
        &["6", "17", "1", "58", "{ 47 }"],
    ),
    (
        "function(pkt) local ip = pkt.ip return ip and ip.version or 0, pkt.tcp and $ & 1, pkt.udp and 2 end",
        &["0", "4", "6", "{ 4, 0 }", "{ 6, 0 }", "{ 4, 1 }", "{ 6, 1 }"],
    ),
    (
        "function(pkt) return pkt.ip and pkt.ip.src, pkt.udp and pkt.udp.dport end",
        &["\"192.0.2.7\"", "{ \"192.0.2.7\", 53 }", "\"2001:db8::1\"", "{ \"2001:db8::1\", 53 }"],
    ),
];

/// What functions of calm tables may use: nothing that fails where it is not asked to.
const CALM: Features = Features::FLOWS
    .with(Features::TEXTS)
    .with(Features::PROTOCOLS)
    .with(Features::WRITES)
    .with(Features::OFFSETS)
    .with(Features::GOTO)
    .with(Features::CLOSURES)
    .with(Features::BUILDING)
    .with(Features::TALLIES);

/// What texts may use: at load time they have no local variables of the script.
const TEXT: Features = Features::FLOWS
    .with(Features::TEXTS)
    .with(Features::PROTOCOLS)
    .with(Features::WRITES)
    .with(Features::OFFSETS)
    .with(Features::GOTO);

/// Verdicts of XDP and tc: at a hook that does not have it, one is an error.
const VERDICTS: [&str; 5] = ["0", "2", "2", "(pkt.mark and 0 or 1)", "(pkt.mark and -1 or 3)"];

impl Generator {
    /// One or two tables with their functions.
    pub(super) fn flow_tables(&mut self) -> Vec<Statement> {
        if !self.has(Features::FLOWS) {
            return Vec::new();
        }
        let mut all = vec![line!("local flow = require \"flow\"")];
        for _ in 0..if self.random.once_in(3) { 2 } else { 1 } {
            all.extend(self.flow_table());
        }
        all
    }

    fn flow_table(&mut self) -> Vec<Statement> {
        let (name, calm) = (self.fresh("flows"), !self.random.once_in(3));
        let (kind, keys) = *self.random.pick(&KINDS);
        let mut all = Vec::new();
        let mut options = format!("key = {kind}");
        let hole = kind.contains('$').then(|| self.of_the_packet(|it| it.integer(1)));
        if self.random.once_in(3) {
            options.push_str(&format!(", capacity = {}", 1 + keys.len() + self.random.below(100)));
        }
        let default = self.random.once_in(2).then(|| self.fresh("way"));
        if let Some(default) = &default {
            all.push(self.way(default, calm));
            options.push_str(&format!(", default = {default}"));
        }
        let made = format!("local {name} = flow.new {{ {options} }}");
        all.push(match hole {
            Some(hole) => line!(made, hole),
            None => line!(made),
        });
        all.extend(self.functions_of_flows(&name, keys, calm));
        self.flows.push(FlowTable { name, calm, may_be_nil: default.is_none() });
        all
    }

    /// Functions for some of the keys.
    fn functions_of_flows(&mut self, table: &str, keys: &[&'static str], calm: bool) -> Vec<Statement> {
        let mut all = Vec::new();
        let count = 1 + self.random.below(2);
        let mut ways = Vec::new();
        for _ in 0..count {
            let way = self.fresh("way");
            all.push(if self.random.once_in(3) { self.text_way(&way) } else { self.way(&way, calm) });
            ways.push(way);
        }
        let first = self.random.below(ways.len());
        for (number, key) in keys.iter().enumerate().filter(|(number, _)| *number == 0 || number % 5 != 4) {
            let way = &ways[(first + number) % ways.len()];
            let set = match self.random.once_in(4) {
                true => format!("flow.set({table}, {key}, {way})"),
                false => format!("{table}:set({key}, {way})"),
            };
            all.push(line!(set));
        }
        all
    }

    /// A function of the script's for flows, or for packets of none.
    fn way(&mut self, name: &str, calm: bool) -> Statement {
        let body = match calm {
            true => self.calmly(CALM, Self::calm_body),
            false => self.wildly(),
        };
        line!(format!("local function {name}(pkt)$end"), body)
    }

    /// A text, which has nothing of the script but its global variables and tables.
    fn text_way(&mut self, name: &str) -> Statement {
        let (body, own) = self.calmly(TEXT, |it| {
            it.scope
                .variables
                .retain(|variable| variable.name.starts_with("global_") && variable.sort == Sort::Integer);
            let own = it.fresh("own");
            it.scope.add(&own, Sort::Integer, true);
            (it.calm_body(), own)
        });
        let before = format!(
            "local t, {own} = {{ 3, -1, 255, 7 }}, 5 local function short(s) return s:sub(1, 40) end\n\
             local addresses, stations = require \"ip\", require \"mac\" return "
        );
        line!(format!("local {name} = [==[{before}function(pkt)$end]==]"), body)
    }

    /// A body that has no errors, and returns a number.
    fn calm_body(&mut self) -> Vec<Statement> {
        // Not where packets can only be read, or have become shorter than any frame.
        let verdict = self.one_of(&VERDICTS);
        let mut body = vec![line!(format!("if #pkt < 14 or not pkt.eth then return {verdict} end"))];
        let (statements, _) = self.of_the_packet(|it| {
            it.function_body(WORK_OF_HELPER, |it| {
                let count = 1 + it.random.below(3);
                let mut body = it.change_shared().unwrap_or_default();
                body.extend(it.statements(count));
                body.push(it.calm_return());
                body
            })
        });
        body.extend(statements);
        body
    }

    /// A verdict, which is also what a function within may return.
    pub(super) fn calm_return(&mut self) -> Statement {
        line!(format!("return {}", self.one_of(&VERDICTS)))
    }

    fn wildly(&mut self) -> Vec<Statement> {
        let (outer, scope, helpers) = (self.features, self.scope.clone(), self.helpers.clone());
        if !self.has_totals() {
            self.scope.variables.retain(|variable| !variable.assignable);
            self.helpers.clear();
            // Other parts have variables of their own.
            self.features = outer.among(CALM.with(Features::ERRORS));
        }
        // Other than by numbers, packets are not redirected by functions of flows.
        self.features = self.features.without(Features::FORWARDING);
        let written = self.of_the_packet(|it| {
            let (body, _) = it.function_body(WORK_OF_HELPER, |it| {
                it.scope.results = None;
                let mut body = it.seeded();
                body.extend(it.change_shared().unwrap_or_default());
                let count = 1 + it.random.below(4);
                body.extend(it.statements(count));
                if !it.random.once_in(3) {
                    body.push(it.returned());
                }
                body
            });
            body
        });
        (self.features, self.scope, self.helpers) = (outer, scope, helpers);
        written
    }

    /// What `write` gives where the packet is known.
    fn of_the_packet<T>(&mut self, write: impl FnOnce(&mut Self) -> T) -> T {
        let outer = std::mem::replace(&mut self.scope.packet, true);
        let written = write(self);
        self.scope.packet = outer;
        written
    }

    /// What `write` gives that has no errors, of some features, and of nothing that has functions of the script's.
    fn calmly<T>(&mut self, features: Features, write: impl FnOnce(&mut Self) -> T) -> T {
        let outer = (self.scope.clone(), self.features, self.calm);
        let helpers = std::mem::take(&mut self.helpers);
        let tallies = self.tallies.clone();
        if !features.has(Features::TALLIES) {
            self.tallies.clear();
        }
        self.scope
            .variables
            .retain(|variable| matches!(variable.sort, Sort::Integer | Sort::Boolean | Sort::Text));
        if !self.has_totals() {
            self.scope.variables.retain(|variable| !variable.assignable);
        }
        (self.features, self.calm) = (self.features.among(features), true);
        let written = write(self);
        (self.scope, self.features, self.calm) = outer;
        (self.helpers, self.tallies) = (helpers, tallies);
        written
    }
}
