//! A script as it is written.

use crate::token::At;
use std::fmt;

/// A script.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    pub imports: Vec<Import>,
    /// Constants of all chains, in the order of the script.
    pub constants: Vec<Constant>,
    pub contents: Vec<Contents>,
    pub attachments: Vec<Attachment>,
    pub chains: Vec<Chain>,
}

/// `from programs.PACKAGE import NAME, …`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    pub source: Source,
    pub package: String,
    pub names: Vec<(String, At)>,
    pub at: At,
}

/// What is imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    Programs,
    /// Programs that the kernel calls, which start chains.
    Loaders,
    /// Functions of a Lua file.
    Lua,
}

/// `NAME = VALUE` outside of chains, or with an upper-case name in one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constant {
    pub name: String,
    pub value: Expression,
    pub at: At,
}

/// `LOADER[MAP] = { (KEY): (VALUE), … }`: what a map is filled with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents {
    pub owner: String,
    pub map: String,
    /// Keys and values, of one word or several.
    pub entries: Vec<[Vec<Expression>; 2]>,
    pub at: At,
}

/// `LOADER.attach('eth0', 'xdp')`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    pub loader: String,
    pub device: String,
    pub mode: String,
    pub at: At,
}

/// `def NAME(TYPE: NAME, …):`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    pub name: String,
    pub parameters: Vec<(Type, String)>,
    pub body: Vec<Statement>,
    pub at: At,
}

/// A type of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Type {
    /// 8, 16, 32 or 64.
    pub bits: u32,
    pub is_signed: bool,
}

impl Type {
    pub const U64: Type = Type { bits: 64, is_signed: false };

    /// By its name: `u8`, `s64` and so on.
    pub fn named(name: &str) -> Option<Type> {
        let (is_signed, bits) = match name.split_at_checked(1)? {
            ("u", bits) => (false, bits),
            ("s", bits) => (true, bits),
            _ => return None,
        };
        let bits = [8, 16, 32, 64].into_iter().find(|known| known.to_string() == bits)?;
        Some(Type { bits, is_signed })
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.is_signed { "s" } else { "u" }, self.bits)
    }
}

/// A line of a chain, with its block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    pub kind: StatementKind,
    pub at: At,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatementKind {
    /// `TYPE: NAME = VALUE`, and `NAME = VALUE` of a variable that has a type, or of a constant.
    Assign {
        ty: Option<Type>,
        name: String,
        value: Expression,
    },
    /// `NAME += VALUE`.
    Change {
        name: String,
        operator: Binary,
        value: Expression,
    },
    Return(Option<Expression>),
    Pass,
    Call(Expression),
    /// Conditions with their blocks, and what is done if none holds.
    If {
        arms: Vec<(Expression, Vec<Statement>)>,
        otherwise: Vec<Statement>,
    },
    While {
        condition: Expression,
        body: Vec<Statement>,
    },
    /// `for NAME in range(FIRST, END, STEP):`.
    For {
        name: String,
        /// First, end and step.
        range: Box<[Expression; 3]>,
        body: Vec<Statement>,
    },
}

/// What has a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expression {
    pub kind: ExpressionKind,
    pub at: At,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExpressionKind {
    Number {
        value: u64,
        is_hexadecimal: bool,
    },
    Text(String),
    Boolean(bool),
    Name(String),
    /// `NAME(…)` and `OWNER.NAME(…)`.
    Call {
        owner: Option<String>,
        name: String,
        arguments: Vec<Expression>,
    },
    /// `OWNER[MAP][KEY, …]`: what a map has for a key.
    Entry {
        owner: String,
        map: String,
        key: Vec<Expression>,
    },
    Unary {
        operator: Unary,
        operand: Box<Expression>,
    },
    Binary {
        operator: Binary,
        operands: Box<[Expression; 2]>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unary {
    /// C's `!`: 1 for 0, 0 for all else.
    Not,
    Negate,
    Complement,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binary {
    Or,
    And,
    BitOr,
    BitXor,
    BitAnd,
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    ShiftLeft,
    ShiftRight,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}
