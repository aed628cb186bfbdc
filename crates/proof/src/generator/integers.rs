//! Integer expressions.

use super::scope::Sort;
use super::tree::{Expression, ExpressionKind, expr, line};
use super::{
    ExpressionRule, Features, Generator, Rules, Statement, TRIES, calls, classes, closures, coroutines,
    failures, floats, formats, forwarding, lengths, lists, metamethods, names, nested, operands, packet,
    patterns, records, tallies, texts, tree, utf8, varargs,
};

/// Values at which arithmetic changes its mind.
const CONSTANTS: [&str; 22] = [
    "0",
    "1",
    "-1",
    "2",
    "3",
    "7",
    "8",
    "-8",
    "10",
    "63",
    "64",
    "100",
    "255",
    "256",
    "-256",
    "0xffff",
    "0x7fffffff",
    "0x80000000",
    "0xffffffff",
    "1 << 40",
    "math.maxinteger",
    "math.mininteger",
];

const INTEGERS: Rules<ExpressionRule> = &[
    (Features::PLAIN, 12, |it, _| Some(it.integer_variable())),
    (Features::PLAIN, 4, |it, _| Some(it.constant())),
    (Features::PLAIN, 12, |it, depth| it.binary(&["+", "-", "*", "+", "-"], depth)),
    (Features::PLAIN, 8, |it, depth| it.binary(&["&", "|", "~"], depth)),
    (Features::PLAIN, 4, Generator::division),
    (Features::PLAIN, 4, Generator::shift),
    (Features::PLAIN, 4, Generator::unary),
    (Features::PLAIN, 4, Generator::either),
    (Features::PLAIN, 5, Generator::of_library),
    (Features::PLAIN, 4, Generator::looked_up),
    (Features::PLAIN, 3, Generator::selected),
    (Features::PLAIN, 6, |it, depth| it.call(depth - 1)),
    (Features::COERCIONS, 2, Generator::coerced),
    (Features::RANDOM, 1, Generator::drawn),
];

impl Generator {
    pub(super) fn constant(&mut self) -> Expression {
        if self.random.once_in(3) {
            let value = self.random.below(40) as i64 - 12;
            let text = if value < 0 { format!("({value})") } else { value.to_string() };
            return Expression::leaf(ExpressionKind::Integer, text);
        }
        let text = self.one_of(&CONSTANTS);
        Expression::leaf(ExpressionKind::Integer, format!("({text})"))
    }

    fn integer_variable(&mut self) -> Expression {
        match self.variable(Sort::Integer) {
            Some(name) => Expression::leaf(ExpressionKind::Integer, name),
            None => self.constant(),
        }
    }

    /// An expression whose value is an integer.
    pub(super) fn integer(&mut self, depth: usize) -> Expression {
        self.spend(1);
        if self.loading() {
            return self.constant();
        }
        if depth == 0 || !self.room(8) {
            return if self.random.once_in(3) { self.constant() } else { self.integer_variable() };
        }
        let rules = [
            INTEGERS,
            floats::INTEGERS,
            packet::INTEGERS,
            forwarding::INTEGERS,
            lengths::INTEGERS,
            texts::INTEGERS,
            patterns::INTEGERS,
            formats::INTEGERS,
            utf8::INTEGERS,
            lists::INTEGERS,
            records::INTEGERS,
            nested::INTEGERS,
            classes::INTEGERS,
            metamethods::INTEGERS,
            names::INTEGERS,
            operands::INTEGERS,
            closures::INTEGERS,
            coroutines::INTEGERS,
            varargs::INTEGERS,
            failures::INTEGERS,
            tallies::INTEGERS,
            calls::INTEGERS,
        ];
        for _ in 0..TRIES {
            if let Some(written) = self.chosen(&rules).and_then(|rule| rule(self, depth)) {
                return written;
            }
        }
        self.integer_variable()
    }

    fn binary(&mut self, operators: &[&'static str], depth: usize) -> Option<Expression> {
        let operator = self.one_of(operators);
        let (left, right) = (self.integer(depth - 1), self.integer(depth - 1));
        Some(expr!(Integer, format!("($ {operator} $)"), left, right))
    }

    /// The divisor is almost never zero.
    fn division(&mut self, depth: usize) -> Option<Expression> {
        let operator = self.one_of(&["//", "%"]);
        let left = self.integer(depth - 1);
        Some(match self.random.below(8) {
            0 if !self.calm => expr!(Integer, format!("($ {operator} $)"), left, self.integer(depth - 1)),
            0..=3 => expr!(Integer, format!("($ {operator} ($ | 1))"), left, self.integer(depth - 1)),
            _ => {
                let divisor = self.one_of(&["2", "3", "(-3)", "8", "(-16)", "10", "255", "(-1)", "1000003"]);
                expr!(
                    Integer,
                    format!("($ {operator} $)"),
                    left,
                    Expression::leaf(ExpressionKind::Integer, divisor)
                )
            }
        })
    }

    fn shift(&mut self, depth: usize) -> Option<Expression> {
        let operator = self.one_of(&["<<", ">>"]);
        let left = self.integer(depth - 1);
        let count = match self.random.below(3) {
            0 => self.integer(depth - 1),
            1 => expr!(Integer, "($ & 63)", self.integer(depth - 1)),
            _ => Expression::leaf(ExpressionKind::Integer, self.random.below(70).to_string()),
        };
        Some(expr!(Integer, format!("($ {operator} $)"), left, count))
    }

    fn unary(&mut self, depth: usize) -> Option<Expression> {
        let operator = self.one_of(&["-", "~"]);
        Some(expr!(Integer, format!("({operator} $)"), self.integer(depth - 1)))
    }

    fn either(&mut self, depth: usize) -> Option<Expression> {
        let condition = self.condition(1);
        Some(expr!(Integer, "($ and $ or $)", condition, self.integer(depth - 1), self.integer(depth - 1)))
    }

    fn of_library(&mut self, depth: usize) -> Option<Expression> {
        let (first, second) = (self.integer(depth - 1), self.integer(depth - 1));
        // Others have no expanded form, which functions of flows need that use variables.
        let choice = if self.is_plain() || self.has_totals() { 3 } else { 11 };
        Some(match self.random.below(choice) {
            0 => expr!(Integer, "math.max($, $)", first, second),
            1 => expr!(Integer, "math.min($, $)", first, second),
            2 => expr!(Integer, "math.abs($)", first),
            3 => expr!(Integer, "math.max($)", tree::at_least(1, vec![first, second, self.constant()])),
            4 => expr!(Integer, "math.floor($)", first),
            5 => expr!(Integer, "math.fmod($, ($ | 1))", first, second),
            6 => expr!(Integer, "math.tointeger($)", first),
            7 => expr!(Integer, "math.ceil($)", first),
            8 => expr!(Integer, "(math.type($) == \"integer\" and $ or 0)", first, second),
            9 => expr!(Integer, "tonumber(tostring($))", first),
            _ => expr!(Integer, "(tonumber($ .. \"\", 16) or $)", self.small(255), second),
        })
    }

    fn looked_up(&mut self, depth: usize) -> Option<Expression> {
        Some(expr!(Integer, "(t[$ & 15] or $)", self.integer(depth - 1), self.integer(depth - 1)))
    }

    /// One of several by `select`.
    fn selected(&mut self, depth: usize) -> Option<Expression> {
        let number = self.one_of(&["1", "2", "-1", "-2"]);
        let rest = self.integers(2, depth - 1);
        Some(expr!(Integer, format!("(select({number}, $))"), tree::at_least(2, rest)))
    }

    /// Arithmetic on a string that reads as an integer (manual § 3.4.3). Bitwise operators do not convert strings.
    fn coerced(&mut self, depth: usize) -> Option<Expression> {
        let numeral = match self.random.below(3) {
            0 => expr!(Text, "tostring($)", self.integer(depth - 1)),
            1 => expr!(Text, "($ .. \"\")", self.integer(depth - 1)),
            _ => Expression::leaf(
                ExpressionKind::Text,
                self.one_of(&[
                    "\"10\"",
                    "\" 7 \"",
                    "\"0x1F\"",
                    "\"-3\"",
                    "\"0x7fffffffffffffff\"",
                    "\"\\t42\\n\"",
                ]),
            ),
        };
        let operator = self.one_of(&["+", "-", "*", "//", "%"]);
        let divides = matches!(operator, "//" | "%");
        if self.random.once_in(2) && !divides {
            return Some(expr!(Integer, format!("($ {operator} $)"), self.integer(depth - 1), numeral));
        }
        let right = self.integer(depth - 1);
        let right = if divides { expr!(Integer, "($ | 1)", right) } else { right };
        Some(expr!(Integer, format!("($ {operator} $)"), numeral, right))
    }

    /// A pseudo-random number; the handler has set the seed.
    fn drawn(&mut self, _: usize) -> Option<Expression> {
        if !self.scope.packet {
            return None;
        }
        Some(match self.random.below(3) {
            0 => expr!(Integer, "math.random($, $ | 64)", self.small(63), self.small(127)),
            1 => expr!(Integer, "math.random(0)"),
            _ => expr!(Integer, "math.random(1 + $)", self.small(15)),
        })
    }

    /// Makes what `math.random` gives the same in every frame and tier.
    pub(super) fn seeded(&mut self) -> Vec<Statement> {
        if !self.has(Features::RANDOM) {
            return Vec::new();
        }
        // What is drawn before is not the same in both tiers: nothing is called here that could draw.
        let seed = if self.random.below(2) == 0 { self.constant() } else { self.integer_variable() };
        vec![line!("math.randomseed($)", seed)]
    }
}
