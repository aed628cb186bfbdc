//! `string.format`, `string.pack` and `string.unpack` (manual § 6.5 and 6.5.2).

use super::tree::{Expression, ExpressionKind, Statement, at_least, expr, line};
use super::{ExpressionRule, Features, Generator, Rules, StatementRule};

pub(super) const STATEMENTS: Rules<StatementRule> = &[(Features::FORMATS, 3, Generator::print_unpacked)];

pub(super) const INTEGERS: Rules<ExpressionRule> = &[(Features::FORMATS, 3, Generator::unpacked)];

const OF_INTEGERS: [&str; 16] = [
    "%d", "%5d", "%-5d|", "%05d", "%+d", "% d", "%i", "%x", "%08X", "%#x", "%o", "%.3d", "%8.3d", "%q", "%s",
    "%-4x|",
];

const OF_TEXTS: [&str; 8] = ["%s", "%8s", "%-8s|", "%.3s", "%q", "%5.2s", "%-20s|", "%-11.4s|"];

/// Formats of one integer: with what a value is limited to, in bits, and whether it is signed.
const PACKED: [(&str, u32); 18] = [
    ("b", 7),
    ("B", 8),
    ("h", 15),
    ("H", 16),
    ("i", 31),
    ("I", 32),
    ("l", 62),
    ("j", 62),
    ("J", 62),
    ("T", 62),
    ("i3", 23),
    ("I3", 24),
    ("i7", 55),
    ("i8", 62),
    ("I5", 40),
    ("i12", 62),
    ("!4 i4", 31),
    ("x I2", 16),
];

impl Generator {
    pub(super) fn formatted(&mut self, depth: usize) -> Option<Expression> {
        self.spend(20);
        let mut format = String::new();
        let mut arguments = Vec::new();
        for _ in 0..1 + self.random.below(3) {
            match self.random.below(8) {
                0..=3 => {
                    format.push_str(self.one_of(&OF_INTEGERS));
                    arguments.push(self.integer(depth - 1));
                }
                4 => {
                    format.push_str("%c%%");
                    arguments.push(expr!(Integer, "($ & 127 | 1)", self.integer(depth - 1)));
                }
                5 => {
                    format.push_str("%s");
                    arguments.push(self.condition(1));
                }
                _ => {
                    format.push_str(self.one_of(&OF_TEXTS));
                    // A width does not go with zeros in the string.
                    let text = self.text(depth - 1);
                    arguments.push(expr!(Text, "$:gsub(\"\\0\", \"\")", text));
                    let last = arguments.pop().map(|text| expr!(Text, "($)", text));
                    arguments.extend(last);
                }
            }
            format.push_str(self.one_of(&["", " ", ":", ", "]));
        }
        let least = arguments.len();
        let format = Expression::leaf(ExpressionKind::Text, format!("(\"{format}\")"));
        Some(match self.random.once_in(3) {
            true => expr!(Text, "$:format($)", format, at_least(least, arguments)),
            false => expr!(Text, "string.format($, $)", format, at_least(least, arguments)),
        })
    }

    /// An integer that went through `pack` and `unpack`.
    fn unpacked(&mut self, depth: usize) -> Option<Expression> {
        self.spend(30);
        let (format, bits) = *self.random.pick(&PACKED);
        let order = self.one_of(&["<", ">", "=", ""]);
        let value = expr!(Integer, format!("($ & ((1 << {bits}) - 1))"), self.integer(depth - 1));
        let format = format!("\"{order}{format}\"");
        if self.random.once_in(8) {
            return Some(expr!(Integer, format!("string.packsize({format})")));
        }
        Some(expr!(Integer, format!("(string.unpack({format}, string.pack({format}, $)))"), value))
    }

    fn print_unpacked(&mut self) -> Option<Vec<Statement>> {
        self.spend(40);
        let order = self.one_of(&["<", ">", "="]);
        let text = self.text(1);
        let small = |it: &mut Self| expr!(Integer, "($ & 100)", it.integer(1));
        let (first, second) = (small(self), small(self));
        let (format, packed) = match self.random.below(4) {
            0 => (format!("{order}Bs1b"), vec![first, expr!(Text, "$:sub(1, 90)", text), second]),
            1 => (format!("{order}zI3"), vec![expr!(Text, "($:gsub(\"\\0\", \".\"))", text), second]),
            2 => (format!("{order}i2 !8 j Xh b"), vec![first.clone(), second, first]),
            _ => (format!("{order}s2 c12 h"), vec![text, expr!(Text, "$:sub(1, 12)", self.text(0)), first]),
        };
        let name = self.fresh("packed");
        Some(vec![
            line!(format!("local {name} = string.pack(\"{format}\", $)"), at_least(packed.len(), packed)),
            self.shown(vec![
                expr!(Integer, format!("#{name}")),
                expr!(Any, format!("string.unpack(\"{format}\", {name})")),
            ]),
        ])
    }
}
