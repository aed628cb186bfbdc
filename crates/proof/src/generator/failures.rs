//! Expressions that raise errors, with as many ways to word them as there are (manual § 2.4, § 6.2 to 6.8).
//!
//! They come up often under protection and hardly ever elsewhere.

use super::scope::Sort;
use super::tree::{Expression, ExpressionKind, Part, expr};
use super::{ExpressionRule, Features, Generator, Rules};

pub(super) const INTEGERS: Rules<ExpressionRule> = &[(Features::ERRORS, 6, Generator::failure)];

/// Values that are no operands of arithmetic.
const WRONG: [&str; 10] = [
    "nil",
    "true",
    "{}",
    "\"x\"",
    "print",
    "undefined",
    "t.missing",
    "(\"x\" .. n)",
    "t[99]",
    "function() end",
];

/// Calls of library functions that fail. `$` is an integer.
const CALLS: [&str; 40] = [
    "string.rep()",
    "(\"x\"):rep(1 << 40)",
    "(\"x\"):rep({})",
    "string.char(256, $)",
    "string.char(-1)",
    "(\"x\"):bad($)",
    "string.format(\"%d\", \"x\")",
    "string.format(\"%d\")",
    "string.format(\"%y\", $)",
    "string.format(\"%s\")",
    "table.concat({ 1, {}, 3 })",
    "table.concat({ 1, 2 }, \",\", 1, 3)",
    "table.insert(nil, $)",
    "table.insert({}, 5, $)",
    "table.insert({ 1 })",
    "table.remove({ 1, 2 }, 7)",
    "table.unpack({}, 1, 1 << 30)",
    "table.sort({ 3, \"x\", 1 })",
    "math.floor(\"x\")",
    "math.max()",
    "math.max($, nil)",
    "math.min(\"a\", $)",
    "math.max({}, {})",
    "math.type()",
    "math.fmod($, 0)",
    "math.random(2, 1)",
    "math.abs(nil)",
    "math.tointeger()",
    "select(0, $)",
    "tonumber(\"10\", 99)",
    "tonumber(10, 10)",
    "tonumber()",
    "setmetatable($, {})",
    "setmetatable({}, $)",
    "ipairs()",
    "next({}, \"nothing\")",
    "rawset($, 1, 1)",
    "rawlen($)",
    "utf8.char(-1)",
    "string.unpack(\"i4\", \"abc\")",
];

/// Patterns and formats that are malformed.
const MALFORMED: [&str; 14] = [
    "(\"abc\"):find(\"[a\")",
    "(\"abc\"):find(\"%\")",
    "(\"abc\"):find(\"(a\")",
    "(\"abc\"):find(\"a)\")",
    "(\"abc\"):find(\"%f\")",
    "(\"abc\"):find(\"%b\")",
    "(\"abc\"):match(\"%2\")",
    "(\"abc\"):gsub(\"a\", \"%2\")",
    "(\"abc\"):gsub(\"a\", \"%x\")",
    "(\"abc\"):gsub(\"a\", function() return {} end)",
    "string.pack(\"i17\", 1)",
    "string.pack(\"b\", 300)",
    "string.pack(\"q\", 1)",
    "utf8.codepoint(\"\\xff\")",
];

impl Generator {
    /// An error, unless this is no place for one.
    fn failure(&mut self, depth: usize) -> Option<Expression> {
        let often = if self.protected > 0 { 3 } else { 30 };
        if !self.random.once_in(often) {
            return None;
        }
        Some(match self.random.below(8) {
            0 => self.failing_call(),
            1 if self.has(Features::PATTERNS) => {
                Expression::leaf(ExpressionKind::Integer, self.one_of(&MALFORMED))
            }
            1 | 2 => self.wrong_index(),
            3 => {
                let operator = self.one_of(&["//", "%"]);
                expr!(Integer, format!("($ {operator} 0)"), self.integer(depth - 1))
            }
            4 => self.raised(),
            _ => self.wrong_operand(depth),
        })
    }

    fn failing_call(&mut self) -> Expression {
        let call = self.one_of(&CALLS);
        match call.matches('$').count() {
            0 => Expression::leaf(ExpressionKind::Integer, call),
            _ => expr!(Integer, call, self.integer(0)),
        }
    }

    fn raised(&mut self) -> Expression {
        let level = self.one_of(&["", ", 0", ", 1", ", 2"]);
        let value = match self.random.below(5) {
            0 => expr!(Text, "(\"code \" .. $)", self.integer(0)),
            1 => self.integer(0),
            2 => expr!(Table, "{ code = $ }", self.integer(0)),
            3 => Expression::leaf(ExpressionKind::Any, "nil"),
            _ => Expression::leaf(ExpressionKind::Text, "\"raised\""),
        };
        expr!(Integer, format!("error($$)"), value, level)
    }

    /// A local, global, constant, field or upvalue of the wrong type; `n` is known in handlers.
    fn wrong(&mut self) -> Expression {
        let texts: Vec<&'static str> =
            WRONG.iter().copied().filter(|text| self.scope.packet || !text.contains("n)")).collect();
        let text = self.one_of(&texts);
        if text == "(\"x\" .. n)" {
            return expr!(Any, "(\"x\" .. $)", self.integer(0));
        }
        let known = self.variable_where(|variable| {
            matches!(variable.sort, Sort::Boolean | Sort::Record | Sort::List | Sort::Function(_))
        });
        match known {
            Some(name) if self.random.once_in(2) => Expression::leaf(ExpressionKind::Any, name),
            _ => expr!(Any, format!("({text})")),
        }
    }

    fn wrong_operand(&mut self, depth: usize) -> Expression {
        let wrong = self.wrong();
        let other = self.integer(depth - 1);
        // Strings are operands of `..`.
        let operators = ["+", "-", "*", "//", "%", "&", "|", "<<", "<", "<=", ".."];
        let fits = if is_text(&wrong) { operators.len() - 1 } else { operators.len() };
        let operator = self.one_of(&operators[..fits]);
        match self.random.below(6) {
            0 => expr!(Integer, "(-$)", wrong),
            1 => expr!(Integer, "(~$)", wrong),
            2 => expr!(Integer, "#$", self.variable(Sort::Integer).map_or(wrong, |name| expr!(Any, name))),
            3 => expr!(Integer, format!("($ {operator} $)"), other, wrong),
            _ => expr!(Integer, format!("($ {operator} $)"), wrong, other),
        }
    }

    /// Indexing and calling what cannot be.
    fn wrong_index(&mut self) -> Expression {
        let integer = self.variable(Sort::Integer).unwrap_or_else(|| "t[1]".to_string());
        let texts = [
            "undefined.x".to_string(),
            "undefined()".to_string(),
            "t.missing.x".to_string(),
            "t.missing()".to_string(),
            "t:missing()".to_string(),
            "t[99][1]".to_string(),
            format!("{integer}.x.y"),
            format!("{integer}()"),
            format!("{integer}[1]"),
            "string.missing()".to_string(),
            "({})[1].x".to_string(),
            "(nil)()".to_string(),
        ];
        let text = self.random.pick(&texts).clone();
        Expression::leaf(ExpressionKind::Integer, text)
    }
}

fn is_text(expression: &Expression) -> bool {
    matches!(expression.parts.first(), Some(Part::Word(word)) if word.trim_start_matches('(').starts_with('"'))
}
