//! The tree of a random program: text with holes, so that it prints as a script and can be made smaller anywhere.
//!
//! A statement or expression is a row of [`Part`]s. It is written with [`line!`] and [`expr!`]: a template in which each `$`
//! stands for the next part. Every expression prints so that it can be an operand of any operator (in parentheses where it
//! needs them), which is what allows an expression to take the place of the one it is in.

/// What an expression's value is, as far as replacing it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpressionKind {
    Integer,
    /// An integer, if need be.
    Float,
    Text,
    Boolean,
    /// Anything, nil included.
    Any,
    Table,
    Function,
    /// A field of a table constructor, or what else stands in a list and is no expression.
    Field,
}

impl ExpressionKind {
    /// The simplest expressions of this kind, simplest first.
    pub fn simplest(self) -> &'static [&'static str] {
        match self {
            ExpressionKind::Integer => &["0", "1"],
            ExpressionKind::Float => &["0.0", "1.5"],
            ExpressionKind::Text => &["\"\"", "\"a\""],
            ExpressionKind::Boolean => &["true", "false"],
            ExpressionKind::Any => &["nil", "1"],
            ExpressionKind::Table => &["{}"],
            ExpressionKind::Function => &["print"],
            ExpressionKind::Field => &[],
        }
    }
}

/// An expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expression {
    pub kind: ExpressionKind,
    pub parts: Vec<Part>,
}

/// A statement, without its line end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    pub parts: Vec<Part>,
}

/// A piece of a statement or expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    Word(String),
    Expression(Expression),
    /// Separated by commas; all but the first `least` can go.
    List {
        items: Vec<Expression>,
        least: usize,
    },
    /// Statements on lines of their own, indented.
    Body(Vec<Statement>),
    /// Can be left out as a whole.
    Optional(Vec<Part>),
}

/// A script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    pub statements: Vec<Statement>,
}

impl Expression {
    pub fn new(kind: ExpressionKind, parts: Vec<Part>) -> Expression {
        Expression { kind, parts }
    }

    /// A name or literal.
    pub fn leaf(kind: ExpressionKind, text: impl Into<String>) -> Expression {
        Expression { kind, parts: vec![Part::Word(text.into())] }
    }
}

impl From<Expression> for Part {
    fn from(expression: Expression) -> Part {
        Part::Expression(expression)
    }
}

impl From<&str> for Part {
    fn from(text: &str) -> Part {
        Part::Word(text.to_string())
    }
}

impl From<String> for Part {
    fn from(text: String) -> Part {
        Part::Word(text)
    }
}

impl From<Vec<Statement>> for Part {
    fn from(statements: Vec<Statement>) -> Part {
        Part::Body(statements)
    }
}

impl From<Vec<Expression>> for Part {
    fn from(items: Vec<Expression>) -> Part {
        Part::List { items, least: 0 }
    }
}

/// A list of which the first `least` items stay.
pub fn at_least(least: usize, items: Vec<Expression>) -> Part {
    Part::List { items, least }
}

/// The parts of a template: each `$` in it is the next hole.
pub fn parts(template: &str, holes: Vec<Part>) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut holes = holes.into_iter();
    for (index, words) in template.split('$').enumerate() {
        if index > 0 {
            parts.extend(holes.next());
        }
        if !words.is_empty() {
            parts.push(Part::Word(words.to_string()));
        }
    }
    debug_assert!(holes.next().is_none(), "more holes than places: {template}");
    parts
}

/// Parts that can be left out together.
macro_rules! optional {
    ($template:expr $(, $hole:expr)* $(,)?) => {
        $crate::generator::tree::Part::Optional($crate::generator::tree::parts(
            $template.as_ref(),
            vec![$($crate::generator::tree::Part::from($hole)),*],
        ))
    };
}

/// An expression of a kind, from a template.
macro_rules! expr {
    ($kind:ident, $template:expr $(, $hole:expr)* $(,)?) => {
        $crate::generator::tree::Expression::new(
            $crate::generator::tree::ExpressionKind::$kind,
            $crate::generator::tree::parts(
                $template.as_ref(),
                vec![$($crate::generator::tree::Part::from($hole)),*],
            ),
        )
    };
}

/// A statement, from a template.
macro_rules! line {
    ($template:expr $(, $hole:expr)* $(,)?) => {
        $crate::generator::tree::Statement {
            parts: $crate::generator::tree::parts(
                $template.as_ref(),
                vec![$($crate::generator::tree::Part::from($hole)),*],
            ),
        }
    };
}

pub(crate) use {expr, line, optional};

impl Program {
    /// As a Lua file.
    pub fn text(&self) -> String {
        let mut printer = Printer::default();
        printer.statements(&self.statements);
        printer.text
    }
}

#[derive(Default)]
struct Printer {
    text: String,
    depth: usize,
}

impl Printer {
    fn statements(&mut self, statements: &[Statement]) {
        for statement in statements {
            self.indent();
            self.parts(&statement.parts);
            self.text.push('\n');
        }
    }

    fn indent(&mut self) {
        self.text.push_str(&"  ".repeat(self.depth));
    }

    fn parts(&mut self, parts: &[Part]) {
        for part in parts {
            match part {
                Part::Word(text) => self.text.push_str(text),
                Part::Expression(expression) => self.parts(&expression.parts),
                Part::List { items, .. } => self.list(items),
                Part::Optional(parts) => self.parts(parts),
                Part::Body(statements) => {
                    self.text.push('\n');
                    self.depth += 1;
                    self.statements(statements);
                    self.depth -= 1;
                    self.indent();
                }
            }
        }
    }

    fn list(&mut self, items: &[Expression]) {
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.text.push_str(", ");
            }
            self.parts(&item.parts);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_print_as_scripts() {
        let sum = expr!(Integer, "($ + $)", Expression::leaf(ExpressionKind::Integer, "a"), "1");
        let call = line!("print($)", vec![sum, Expression::leaf(ExpressionKind::Text, "\"$\"")]);
        let inner = line!("if x then$end", vec![call.clone()]);
        let function = line!("f(function()$end$)", vec![inner], optional!(", $", "2"));
        let program = Program { statements: vec![call, function] };
        let expected =
            "print((a + 1), \"$\")\nf(function()\n  if x then\n    print((a + 1), \"$\")\n  end\nend, 2)\n";
        assert_eq!(program.text(), expected);
    }
}
