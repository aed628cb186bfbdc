//! Operators whose operands the compiler of Lua exchanges or rewrites (`x - 1`, `10 + x`): with operands that are none on some paths, and with
//! metamethods that give one of the two, also into tables whose types have to be found out. Names of headers that are made.

use super::tree::{Expression, Statement, expr, line};
use super::{ExpressionRule, Features, Generator, Rules, StatementRule};

pub(super) const STATEMENTS: Rules<StatementRule> = &[(Features::METAMETHODS, 3, Generator::chosen_operand)];

pub(super) const INTEGERS: Rules<ExpressionRule> =
    &[(Features::TEXTS, 1, |it, _| it.sometimes_wrong()), (Features::TEXTS, 2, |it, _| it.chosen_argument())];

pub(super) const CONDITIONS: Rules<ExpressionRule> = &[(Features::PROTOCOLS, 3, |it, _| it.made_name())];

/// Operators with the names of their metamethods.
const OPERATORS: [(&str, &str); 10] = [
    ("+", "add"),
    ("-", "sub"),
    ("*", "mul"),
    ("//", "idiv"),
    ("%", "mod"),
    ("&", "band"),
    ("|", "bor"),
    ("~", "bxor"),
    ("<<", "shl"),
    (">>", "shr"),
];

/// Ways to come to the name of a header, or to one that there is not.
const NAMES: [&str; 10] = [
    "\"ud\" .. \"p\"",
    "string.unpack(\"z\", \"udp\\0tcp\\0\", 1 + 4 * ($ & 1))",
    "(\"xudp\"):sub(2 + ($ & 1))",
    "string.char(117, 100, 112)",
    "table.pack(\"t\" .. \"cp\")[1]",
    "({ \"udp\", \"tcp\" })[1 + ($ & 1)]",
    "(\"udp tcp\"):match(\"%a+\")",
    "table.concat({ \"i\", \"p\" })",
    "string.format(\"%s\", $ > 3 and \"icmp\" or \"ip\")",
    "(\"TCP\"):lower()",
];

impl Generator {
    /// An operator with a constant on one side and what is a string now and then on the other one.
    fn sometimes_wrong(&mut self) -> Option<Expression> {
        if self.loading() {
            return None;
        }
        let (operator, _) = *self.random.pick(&OPERATORS);
        let text = self.one_of(&["\"abc\"", "\"7\"", "\"0x10\""]);
        let operand = expr!(Any, format!("($ and {text} or $)"), self.condition(1), self.integer(1));
        let constant = 1 + self.random.below(9);
        Some(match self.random.once_in(2) {
            true => expr!(Integer, format!("({constant} {operator} $)"), operand),
            false => expr!(Integer, format!("($ {operator} {constant})"), operand),
        })
    }

    /// Library functions with an argument of one type or another.
    fn chosen_argument(&mut self) -> Option<Expression> {
        if self.loading() {
            return None;
        }
        let condition = self.condition(1);
        Some(match self.random.below(5) {
            0 => expr!(Integer, "select($ and 1 or \"#\", $, 9)", condition, self.integer(1)),
            1 => expr!(Integer, "select($ and -1 or \"2\", 3, $)", condition, self.integer(1)),
            2 => expr!(Integer, "(tonumber($ and \"12\" or $) or 0)", condition, self.integer(1)),
            3 => expr!(Integer, "#tostring($ and \"text\" or $)", condition, self.integer(1)),
            _ => expr!(Integer, "(rawequal($, $ and 1 or \"1\") and 1 or 0)", self.integer(1), condition),
        })
    }

    /// Keeps what a metamethod gives that hands on one of its operands, the one that is no table.
    fn chosen_operand(&mut self) -> Option<Vec<Statement>> {
        let (operator, event) = *self.random.pick(&OPERATORS);
        let (constant, name) = (1 + self.random.below(9), self.fresh("o"));
        let first = self.random.once_in(2);
        let (side, result) = match first {
            true => ("a", format!("{constant} {operator} {name}")),
            false => ("b", format!("{name} {operator} {constant}")),
        };
        self.spend(40);
        let metatable = format!("{{ __{event} = function(a, b) return {side} end }}");
        let object = line!(format!("local {name} = setmetatable({{ v = 1 }}, {metatable})"));
        let result = expr!(Integer, result);
        let kept = match self.integer_tally() {
            Some((place, key)) => line!(format!("{place} = $"), key, result),
            None => self.shown(vec![result]),
        };
        Some(vec![line!("do$end", vec![object, kept])])
    }

    /// Whether there is a header whose name is made when it is asked for.
    fn made_name(&mut self) -> Option<Expression> {
        if !self.scope.packet {
            return None;
        }
        self.spend(20);
        let name = self.one_of(&NAMES);
        let numbers: Vec<Expression> = name.matches('$').map(|_| self.integer(1)).collect();
        let name = match numbers.into_iter().next() {
            Some(number) => expr!(Text, name, number),
            None => expr!(Text, name),
        };
        Some(expr!(Boolean, "(pkt[$] ~= nil)", name))
    }
}
