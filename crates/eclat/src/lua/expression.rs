//! Values of chains as expressions of Lua.

use super::{Callees, FUNCTIONS, Writer, asks, chain, variable};
use crate::ast::{Binary, Type, Unary};
use crate::eval;
use crate::tree::{Callee, Value, ValueKind};

/// Expressions within expressions, at most, before one gets a name: Lua takes 200 levels (`LUAI_MAXCCALLS`, llimits.h), blocks included.
const DEEP: u32 = 20;

/// An expression that has no effect: what calls give has a name already.
pub struct Expression {
    pub text: String,
    depth: u32,
}

impl Expression {
    fn flat(text: impl Into<String>) -> Expression {
        Expression { text: text.into(), depth: 0 }
    }
}

impl<C: Callees> Writer<'_, C> {
    /// An expression for an integer.
    pub(super) fn value(&mut self, value: &Value) -> Expression {
        match &value.kind {
            ValueKind::Number(number) => Expression::flat(format!("0x{:x}", eval::filled(*number, value.ty))),
            ValueKind::Variable(id) => Expression::flat(variable(*id)),
            ValueKind::Convert(of) => {
                let inner = self.value(of);
                self.made(filled(&inner.text, value.ty), inner.depth)
            }
            ValueKind::Unary(Unary::Not, _) => self.truth(value),
            ValueKind::Unary(operator, of) => {
                let inner = self.value(of);
                let sign = if *operator == Unary::Negate { "-" } else { "~" };
                self.made(filled(&format!("({sign}{})", inner.text), value.ty), inner.depth)
            }
            ValueKind::Binary(operator, both) if is_truth(*operator) => {
                let _ = both;
                self.truth(value)
            }
            ValueKind::Binary(operator, both) => {
                let [a, b] = [self.value(&both[0]), self.value(&both[1])];
                let text = computed(*operator, both[0].ty, [&a.text, &b.text]);
                self.made(filled(&text, value.ty), a.depth.max(b.depth))
            }
            ValueKind::Call(callee, arguments) => {
                let name = self.call(*callee, arguments, value);
                Expression::flat(name)
            }
        }
    }

    fn truth(&mut self, value: &Value) -> Expression {
        let condition = self.condition(value);
        self.made(format!("({} and 1 or 0)", condition.text), condition.depth)
    }

    /// An expression that is true where a value is not 0.
    pub(super) fn condition(&mut self, value: &Value) -> Expression {
        match &value.kind {
            ValueKind::Unary(Unary::Not, of) => {
                let inner = self.condition(of);
                self.made(format!("(not {})", inner.text), inner.depth)
            }
            ValueKind::Binary(operator @ (Binary::And | Binary::Or), both) => {
                let first = self.condition(&both[0]);
                let (word, no) = if *operator == Binary::And { ("and", "") } else { ("or", "not ") };
                if !asks(&both[1], &|_| true) {
                    let second = self.condition(&both[1]);
                    let depth = first.depth.max(second.depth);
                    return self.made(format!("({} {word} {})", first.text, second.text), depth);
                }
                // What the second one calls is called only if the first one does not decide.
                let name = self.named(&first.text);
                self.put(&format!("if {no}{name} then"));
                let second = self.condition(&both[1]).text;
                self.put(&format!("{name} = {second} end"));
                Expression::flat(name)
            }
            ValueKind::Binary(operator, both) if is_truth(*operator) => {
                let [a, b] = [self.value(&both[0]), self.value(&both[1])];
                let depth = a.depth.max(b.depth);
                self.made(compared(*operator, both[0].ty, [&a.text, &b.text]), depth)
            }
            _ => {
                let number = self.value(value);
                self.made(format!("({} ~= 0)", number.text), number.depth)
            }
        }
    }

    /// An expression around others; one that is too deep gets a name.
    fn made(&mut self, text: String, depth: u32) -> Expression {
        match depth + 1 {
            depth @ ..DEEP => Expression { text, depth },
            _ => Expression::flat(self.named(&text)),
        }
    }

    /// A name for what an expression is now.
    fn named(&mut self, text: &str) -> String {
        let name = self.temporary();
        self.put(&format!("local {name} = {text}"));
        name
    }

    /// A name for what a call gives.
    fn call(&mut self, callee: Callee, arguments: &[Value], value: &Value) -> String {
        let names: Vec<String> = arguments.iter().map(|argument| self.value(argument).text).collect();
        let all = |first: &str| [&[first.to_string()], &*names].concat().join(", ");
        let place = (value.ty, value.at);
        let text = match callee {
            Callee::Chain(number) if self.which.contains(&number) => {
                format!("{}({})", chain(&self.chains.chains[number].name), all("pkt"))
            }
            Callee::Chain(number) => format!("call({}, {})", self.callees.chain(number), all("pkt")),
            Callee::Program(program) if let Some(function) = self.callees.function(program) => {
                let given = if function.takes_packet { all("pkt") } else { names.join(", ") };
                return self.function(program, &given, value);
            }
            _ => format!("call({}, {})", self.step(callee, place, arguments.len()), all("pkt")),
        };
        self.named(&filled(&text, value.ty))
    }

    /// The same of a function in Lua that gets these arguments. What is wrong with its results is raised at the line of the chain.
    fn function(&mut self, program: usize, arguments: &str, value: &Value) -> String {
        let decide = self.step(Callee::Decide(program), (Type::U64, value.at), 1);
        let called = &self.chains.programs[program].name;
        let name = self.temporary();
        self.put(&format!(
            "local {name} do local value, verdict, problem = given('{called}', {FUNCTIONS}['{called}']({arguments})) \
             if problem then error(problem) end if verdict then call({decide}, pkt, verdict) end {name} = {} end",
            filled("value", value.ty)
        ));
        name
    }
}

/// Gives 0 or 1.
fn is_truth(operator: Binary) -> bool {
    use Binary::*;
    matches!(operator, And | Or | Equal | Unequal | Less | LessOrEqual | Greater | GreaterOrEqual)
}

/// An integer's bits as its type fills them up.
pub(super) fn filled(text: &str, ty: Type) -> String {
    let (all, sign) = (u64::MAX >> (64 - ty.bits), 1_u64 << (ty.bits - 1));
    match (ty.bits, ty.is_signed) {
        (64, _) => text.to_string(),
        (_, false) => format!("({text} & 0x{all:x})"),
        (_, true) => format!("(({text} & 0x{all:x} ~ 0x{sign:x}) - 0x{sign:x})"),
    }
}

fn compared(operator: Binary, ty: Type, [a, b]: [&str; 2]) -> String {
    let word = match operator {
        Binary::Equal => "==",
        Binary::Unequal => "~=",
        Binary::Less => "<",
        Binary::LessOrEqual => "<=",
        Binary::Greater => ">",
        _ => ">=",
    };
    let is_plain = ty.is_signed || ty.bits < 64 || matches!(operator, Binary::Equal | Binary::Unequal);
    match is_plain {
        true => format!("({a} {word} {b})"),
        false => format!("({a} ~ 0x8000000000000000 {word} {b} ~ 0x8000000000000000)"),
    }
}

fn computed(operator: Binary, ty: Type, [a, b]: [&str; 2]) -> String {
    let plain = |word: &str| format!("({a} {word} {b})");
    let count = || format!("({b} & {})", ty.bits - 1);
    let called = |name: &str| format!("{name}({a}, {b})");
    match (operator, ty.is_signed) {
        (Binary::BitOr, _) => plain("|"),
        (Binary::BitXor, _) => plain("~"),
        (Binary::BitAnd, _) => plain("&"),
        (Binary::ShiftLeft, _) => format!("({a} << {})", count()),
        (Binary::ShiftRight, true) => format!("shifted({a}, {})", count()),
        (Binary::ShiftRight, false) => format!("({a} >> {})", count()),
        (Binary::Subtract, _) => plain("-"),
        (Binary::Multiply, _) => plain("*"),
        (Binary::Divide, true) => called("divided_signed"),
        (Binary::Divide, false) => called("divided"),
        (Binary::Remainder, true) => called("rest_signed"),
        (Binary::Remainder, false) => called("rest"),
        _ => plain("+"),
    }
}
