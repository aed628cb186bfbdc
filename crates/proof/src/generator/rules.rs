//! Tables of rules: lists of functions and of records with functions in them, made at load time or for the packet, and walked or
//! looked up packet by packet.

use super::packet::FIELDS;
use super::scope::Sort;
use super::tree::{Expression, Statement, expr, line, optional};
use super::{Features, Generator, Rules, StatementRule, WORK_OF_CLOSURE};

/// A table of the script's own.
#[derive(Clone)]
pub(super) struct RuleTable {
    name: String,
    /// It was made at load time, so that all functions see it.
    loaded: bool,
    kind: RuleKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum RuleKind {
    /// A list of functions of the packet and an integer that give an integer.
    Functions,
    /// A list of records: a name, such a function that gives a boolean, an integer.
    Records,
    /// Functions as the first kind has, by protocol numbers and names.
    ByKey,
    /// A list of records with the names of a header and of a field, and an integer.
    Fields,
    /// A list of names of functions of the string library.
    Steps,
}

pub(super) const STATEMENTS: Rules<StatementRule> = &[
    (Features::RULES, 6, Generator::visit_rules),
    (Features::RULES, 2, Generator::rules_of_the_packet),
    (Features::RULES, 3, Generator::first_rule),
    (Features::RULES, 4, Generator::dispatch),
    (Features::RULES, 3, Generator::names_in_text),
    (Features::RULES, 4, Generator::fields_by_name),
    (Features::RULES, 2, Generator::library_by_name),
];

/// Keys of tables by protocol, and what may find one.
const PROTOCOLS: [&str; 5] = ["[6]", "[17]", "[1]", "tcp", "udp"];

const NAMES: [&str; 6] = ["ssh", "web", "dns", "lan", "bot", "any"];

impl Generator {
    /// Up to two tables of load time.
    pub(super) fn rules_of_load_time(&mut self) -> Vec<Statement> {
        if !self.has(Features::RULES) {
            return Vec::new();
        }
        use RuleKind::*;
        let kinds = [Functions, Records, ByKey, Fields, Steps];
        (0..1 + self.random.below(2))
            .map(|_| self.rule_table(*self.random.clone().pick(&kinds), true))
            .collect()
    }

    fn rule_table(&mut self, kind: RuleKind, loaded: bool) -> Statement {
        let name = self.fresh("rules");
        let count = 1 + self.random.below(5);
        let items: Vec<Expression> = (0..count).map(|index| self.rule(kind, index)).collect();
        self.rules.push(RuleTable { name: name.clone(), loaded, kind });
        line!(format!("local {name} = {{ $ }}"), items)
    }

    fn rule(&mut self, kind: RuleKind, index: usize) -> Expression {
        match kind {
            RuleKind::Functions => expr!(Field, "$", self.rule_function(false)),
            RuleKind::ByKey => {
                let key = PROTOCOLS[index % PROTOCOLS.len()];
                expr!(Field, format!("{key} = $"), self.rule_function(false))
            }
            RuleKind::Fields => {
                let (header, field) = match self.random.once_in(12) {
                    true => ("icmp", "dport"),
                    false => *self.random.pick(&FIELDS),
                };
                let value = self.random.below(99);
                expr!(Field, format!("{{ proto = \"{header}\", field = \"{field}\", value = {value} }}"))
            }
            RuleKind::Steps => {
                expr!(Field, format!("\"{}\"", self.one_of(&["lower", "upper", "reverse", "len"])))
            }
            RuleKind::Records => {
                let (name, test, score) =
                    (self.one_of(&NAMES), self.rule_function(true), self.random.below(9));
                expr!(Field, format!("{{ name = \"{name}\", test = $, score = {score} }}"), test)
            }
        }
    }

    /// A function of the packet and an integer.
    fn rule_function(&mut self, tests: bool) -> Expression {
        let x = self.fresh("x");
        let (body, _) = self.function_body(WORK_OF_CLOSURE, |it| {
            it.scope.packet = true;
            it.scope.add(&x, Sort::Integer, true);
            let mut body = match it.random.once_in(4) && !tests {
                true => it.statements(1),
                false => Vec::new(),
            };
            body.push(match tests {
                true => line!("return $", it.test_of_packet()),
                false => line!("return $", it.integer(2)),
            });
            body
        });
        expr!(Function, format!("function(pkt, {x})$end"), body)
    }

    /// What filters ask.
    fn test_of_packet(&mut self) -> Expression {
        self.spend(20);
        match self.random.below(9) {
            0 => expr!(Boolean, "(pkt.tcp and pkt.tcp.dport == $)", self.constant()),
            1 => expr!(Boolean, "(pkt.udp and pkt.udp.dport > $)", self.constant()),
            2 => expr!(Boolean, "(pkt.ip and pkt.ip.src == \"192.0.2.7\")"),
            3 if self.has(Features::PATTERNS) => {
                let pattern = self.one_of(&["^192%.0%.", "^2001:", "%.7$", "^1?9*2", "%d+%.%d"]);
                expr!(Boolean, format!("(pkt.ip and pkt.ip.src:find(\"{pattern}\") ~= nil)"))
            }
            4 if self.has(Features::PATTERNS) => {
                let pattern = self.one_of(&["^GET (%S+)", "Host: ", "[Bb]ot", "^%w+ /", "%d%d%d"]);
                expr!(Boolean, format!("((pkt.payload or \"\"):match(\"{pattern}\") ~= nil)"))
            }
            5 => expr!(Boolean, "(pkt.payload and pkt.payload:sub(1, 3) == \"GET\")"),
            6 => expr!(Boolean, "(#pkt > $)", self.small(127)),
            _ => self.condition(2),
        }
    }

    /// A table of that kind that is known here.
    fn known_rules(&mut self, kind: RuleKind) -> Option<String> {
        let here = |table: &&RuleTable| table.loaded && table.kind == kind;
        let names: Vec<String> = self.rules.iter().filter(here).map(|table| table.name.clone()).collect();
        (!names.is_empty() && self.scope.packet).then(|| self.random.pick(&names).clone())
    }

    /// Asks every rule.
    fn visit_rules(&mut self) -> Option<Vec<Statement>> {
        if !self.may_nest() || !self.room(6 * WORK_OF_CLOSURE) {
            return None;
        }
        let records = self.random.once_in(2);
        let kind = if records { RuleKind::Records } else { RuleKind::Functions };
        let name = self.known_rules(kind)?;
        Some(self.visit(&name, kind))
    }

    fn visit(&mut self, name: &str, kind: RuleKind) -> Vec<Statement> {
        self.spend(5 * WORK_OF_CLOSURE);
        let (sum, argument) = (self.fresh("v"), self.integer(1));
        let mut body = match kind {
            RuleKind::Records => {
                let mut hit = vec![
                    self.shown(vec![expr!(Any, "i, rule.name")]),
                    line!(format!("{sum} = {sum} + rule.score")),
                ];
                if self.random.once_in(2) {
                    hit.push(line!("break"));
                }
                vec![line!("if rule.test(pkt, $) then$end", argument, hit)]
            }
            _ => vec![line!(format!("{sum} = {sum} ~ rule(pkt, $ + i)"), argument)],
        };
        let head = match self.random.once_in(3) {
            true => {
                body.insert(0, line!(format!("local rule = {name}[i]")));
                format!("for i = 1, #{name} do$end")
            }
            false => format!("for i, rule in ipairs({name}) do$end"),
        };
        self.scope.add(&sum, Sort::Integer, true);
        vec![line!(format!("local {sum} = 0")), line!(head, body), self.shown(vec![expr!(Integer, sum)])]
    }

    /// A table that is made for the packet: its functions see the handler's variables.
    fn rules_of_the_packet(&mut self) -> Option<Vec<Statement>> {
        if !self.may_nest() || !self.scope.packet || !self.room(6 * WORK_OF_CLOSURE) {
            return None;
        }
        let kind = if self.random.once_in(2) { RuleKind::Records } else { RuleKind::Functions };
        let table = self.rule_table(kind, false);
        let name = self.rules.pop()?.name;
        let mut all = vec![table];
        all.extend(self.visit(&name, kind));
        Some(all)
    }

    /// Keeps the first rule that applies.
    fn first_rule(&mut self) -> Option<Vec<Statement>> {
        if !self.may_nest() || !self.room(6 * WORK_OF_CLOSURE) {
            return None;
        }
        let (name, hit) = (self.known_rules(RuleKind::Records)?, self.fresh("hit"));
        self.spend(5 * WORK_OF_CLOSURE);
        let keep = vec![line!(format!("{hit} = rule")), line!("break")];
        let body = vec![line!("if rule.test(pkt, $) then$end", self.integer(0), keep)];
        Some(vec![
            line!(format!("local {hit}")),
            line!(format!("for _, rule in ipairs({name}) do$end"), body),
            self.shown(vec![expr!(Any, format!("{hit} and {hit}.name, ({hit} or {{ score = -1 }}).score"))]),
        ])
    }

    /// Calls the function that a table has for the packet, if it has one.
    fn dispatch(&mut self) -> Option<Vec<Statement>> {
        if !self.room(2 * WORK_OF_CLOSURE) {
            return None;
        }
        let (name, g) = (self.known_rules(RuleKind::ByKey)?, self.fresh("g"));
        self.spend(WORK_OF_CLOSURE);
        let key = match self.random.below(4) {
            0 => expr!(Any, "(pkt.tcp and \"tcp\" or \"udp\")"),
            1 => expr!(Any, "($ & 31)", self.integer(1)),
            2 => expr!(Any, "(pkt.ip and pkt.ip.proto or 0)"),
            _ => expr!(Any, "($ and 6 or $ and 17 or \"udp\")", self.condition(1), self.condition(1)),
        };
        let argument = self.integer(1);
        let call = vec![self.shown(vec![expr!(Integer, format!("{g}(pkt, $)"), argument)])];
        let otherwise = optional!("else$", vec![self.shown(vec![expr!(Text, "\"none\"")])]);
        Some(vec![
            line!(format!("local {g} = {name}[$]"), key),
            line!(format!("if {g} then$$end"), call, otherwise),
        ])
    }

    /// Looks fields up whose headers and names are data.
    fn fields_by_name(&mut self) -> Option<Vec<Statement>> {
        if !self.may_nest() || !self.room(200) {
            return None;
        }
        let name = self.known_rules(RuleKind::Fields)?;
        self.spend(120);
        let (sum, header) = (self.fresh("v"), self.fresh("h"));
        // Names that are put together are equal to no constant's address.
        let field =
            self.one_of(&["rule.field", "rule.field", "(rule.field .. \"\")", "(\"%s\"):format(rule.field)"]);
        let hit = vec![line!(format!("{sum} = {sum} + 1"))];
        let body = vec![
            line!(format!("local {header} = pkt[rule.proto]")),
            line!(format!("if {header} and {header}[{field}] == rule.value + i then$end"), hit),
            self.shown(vec![expr!(Any, format!("{header} and {header}[rule.field]"))]),
        ];
        Some(vec![
            line!(format!("local {sum} = 0")),
            line!(format!("for i, rule in ipairs({name}) do$end"), body),
            self.shown(vec![expr!(Integer, sum)]),
        ])
    }

    /// Calls functions of the library whose names are data.
    fn library_by_name(&mut self) -> Option<Vec<Statement>> {
        if !self.may_nest() || !self.room(200) {
            return None;
        }
        let name = self.known_rules(RuleKind::Steps)?;
        self.spend(120);
        let text = self.fresh("s");
        let call = match self.one_of(&["string", "method"]) {
            "string" => format!("{text} = string[name](tostring({text}))"),
            _ => format!("{text} = (\"\")[name](tostring({text}))"),
        };
        Some(vec![
            line!(format!("local {text} = \"Some Text\"")),
            line!(format!("for _, name in ipairs({name}) do$end"), vec![line!(call)]),
            self.shown(vec![expr!(Any, text)]),
        ])
    }

    /// A list of names that are looked for in a text.
    fn names_in_text(&mut self) -> Option<Vec<Statement>> {
        if !self.may_nest() || !self.scope.packet || !self.room(300) {
            return None;
        }
        self.spend(200);
        let (list, text, found) = (self.fresh("names"), self.fresh("s"), self.fresh("found"));
        let words = ["bot", "curl", "get", "host", "x", "http", "user-agent", "example"];
        let count = 1 + self.random.below(words.len());
        let words: Vec<Expression> =
            words.iter().take(count).map(|word| expr!(Text, format!("\"{word}\""))).collect();
        let from = match self.random.below(3) {
            0 => "(pkt.payload or \"\"):lower()",
            1 => "(pkt.payload or \"\")",
            _ => "pkt:getstring(0):lower()",
        };
        let find = self.one_of(&[":find(name, 1, true)", ":find(name)", ":sub(1, #name) == name"]);
        let mut hit = vec![line!(format!("{found} = name"))];
        if self.random.once_in(2) {
            hit.push(line!("break"));
        }
        let body = vec![line!(format!("if {text}{find} then$end"), hit)];
        Some(vec![
            line!(format!("local {list} = {{ $ }}"), words),
            line!(format!("local {text}, {found} = {from}")),
            line!(format!("for _, name in ipairs({list}) do$end"), body),
            self.shown(vec![expr!(Any, found)]),
        ])
    }
}
