//! Classes whose constructors keep what they make, and that load time alone calls: in lists, by name, in the class itself. Handlers go
//! through what is kept, and call its methods.

use super::scope::Sort;
use super::tree::{Statement, expr, line};
use super::{Features, Generator, Rules, StatementRule, WORK_OF_CLOSURE};

/// A class, and the tables in which it keeps its instances.
#[derive(Clone)]
pub(super) struct Registry {
    class: String,
    list: String,
    by_name: String,
}

pub(super) const STATEMENTS: Rules<StatementRule> = &[
    (Features::REGISTRIES, 6, Generator::visit_kept),
    (Features::REGISTRIES, 3, Generator::kept_by_name),
    (Features::REGISTRIES, 2, Generator::all_by_name),
    (Features::REGISTRIES, 3, Generator::method_by_name),
];

const NAMES: [&str; 5] = ["tcp", "udp", "icmp", "arp", "other"];

/// The beginning of a constructor of class C, and how it is called.
const CONSTRUCTORS: [(&str, &str); 6] = [
    ("function C.add(v, name)", "C.add"),
    ("function C.open(v, name)", "C.open"),
    ("function C:create(v, name)", "C:create"),
    ("function C:register(v, name)", "C:register"),
    ("C.make = function(v, name)", "C.make"),
    ("getmetatable(C).__call = function(_, v, name)", "C"),
];

/// What a constructor of class C does with `self`, besides putting it into a list; B has instances by name.
const KEEPS: [&str; 5] = [
    "B[name] = self",
    "B[name] = B[name] or self",
    "rawset(B, name, self)",
    "if not B[name] then B[name] = self end C.made = (C.made or 0) + 1",
    "C.last, B[name] = self, self",
];

impl Generator {
    /// One or two classes.
    pub(super) fn registries_of_load_time(&mut self) -> Vec<Statement> {
        if !self.has(Features::REGISTRIES) {
            return Vec::new();
        }
        (0..1 + self.random.below(2)).flat_map(|_| self.registry()).collect()
    }

    fn registry(&mut self) -> Vec<Statement> {
        let (class, list, by_name) = (self.fresh("K"), self.fresh("kept"), self.fresh("named"));
        let named = |text: &str| text.replace('C', &class).replace('B', &by_name);
        let (head, make) = *self.random.pick(&CONSTRUCTORS);
        let keep = named(self.one_of(&KEEPS));
        let made = vec![
            line!(format!("local self = setmetatable({{ v = v, name = name }}, {class})")),
            line!(format!("{list}[#{list} + 1] = self")),
            line!(keep),
            line!("return self"),
        ];
        let (test, _) = self.function_body(WORK_OF_CLOSURE, |it| {
            it.scope.add("x", Sort::Integer, true);
            it.scope.add("self.v", Sort::Integer, false);
            vec![line!("return self.v ~ $", it.integer(2))]
        });
        let mut all = vec![
            line!(format!("local {list}, {by_name} = {{}}, {{}}")),
            line!(format!("local {class} = setmetatable({{}}, {{}})")),
            line!(format!("{class}.__index = {class}")),
            line!(format!("{}$end", named(head)), made),
            line!(format!("function {class}:test(x)$end"), test),
            line!(format!("function {class}:other(x) return self[\"te\" .. \"st\"](self, x) ~ 1 end")),
        ];
        for name in NAMES.into_iter().take(1 + self.random.below(NAMES.len())) {
            let value = self.constant();
            all.push(line!(format!("{}($, \"{name}\")", named(make)), value));
        }
        self.registries.push(Registry { class, list, by_name });
        all
    }

    fn any_registry(&mut self) -> Option<Registry> {
        let all = self.registries.clone();
        (!all.is_empty() && self.may_nest() && self.room(6 * WORK_OF_CLOSURE)).then(|| {
            self.spend(5 * WORK_OF_CLOSURE);
            self.random.pick(&all).clone()
        })
    }

    /// Asks every instance.
    fn visit_kept(&mut self) -> Option<Vec<Statement>> {
        let Registry { list, .. } = self.any_registry()?;
        let (sum, argument) = (self.fresh("v"), self.integer(1));
        let body = vec![line!(format!("{sum} = {sum} + kept:test($ + i)"), argument)];
        let head = format!("for i, kept in ipairs({list}) do$end");
        self.scope.add(&sum, Sort::Integer, true);
        Some(vec![
            line!(format!("local {sum} = 0")),
            line!(head, body),
            self.shown(vec![expr!(Integer, sum)]),
        ])
    }

    /// The instance whose name the packet tells, if there is one.
    fn kept_by_name(&mut self) -> Option<Vec<Statement>> {
        let Registry { by_name, .. } = self.any_registry()?;
        let name = match self.scope.packet {
            true => "(pkt.tcp and \"tcp\" or pkt.udp and \"udp\" or pkt.icmp and \"icmp\" or \"none\")",
            false => self.one_of(&["\"tcp\"", "\"none\"", "(\"u\" .. \"dp\")"]),
        };
        let (kept, argument) = (self.fresh("o"), self.integer(1));
        let call = vec![self.shown(vec![expr!(Integer, format!("{kept}:test($)"), argument)])];
        Some(vec![
            line!(format!("local {kept} = {by_name}[{name}]")),
            line!(format!("if {kept} then$end"), call),
        ])
    }

    /// Methods whose names are put together.
    fn method_by_name(&mut self) -> Option<Vec<Statement>> {
        let Registry { class, list, .. } = self.any_registry()?;
        let (argument, object) = (self.integer(1), self.fresh("o"));
        let made = format!("setmetatable({{ v = 3 }}, {class})");
        let table = match self.random.below(5) {
            0 => class.clone(),
            1 => format!("getmetatable({object})"),
            2 => format!("({{ {class} }})[1]"),
            3 => format!("($ and {object} or {class})"),
            _ => object.clone(),
        };
        let name = self.one_of(&["(\"te\" .. \"st\")", "(\"oth\" .. \"er\")"]);
        let called = match table.contains('$') {
            true => {
                let condition = self.condition(1);
                expr!(Integer, format!("{table}[{name}]({object}, $)"), condition, argument)
            }
            false => expr!(Integer, format!("{table}[{name}]({object}, $)"), argument),
        };
        let from = if self.random.once_in(2) { made } else { format!("{list}[1]") };
        Some(vec![line!(format!("local {object} = {from}")), self.shown(vec![called])])
    }

    /// All of them, in an order that does not show.
    fn all_by_name(&mut self) -> Option<Vec<Statement>> {
        let Registry { by_name, .. } = self.any_registry()?;
        let sum = self.fresh("v");
        let body = vec![line!(format!("{sum} = {sum} ~ kept:test(#name)"))];
        Some(vec![
            line!(format!("local {sum} = 0")),
            line!(format!("for name, kept in pairs({by_name}) do$end"), body),
            self.shown(vec![expr!(Integer, sum)]),
        ])
    }
}
