//! Functions of strings that take a few instructions: the usual cases in place, all others by their routines.

use crate::body::Body;
use moonhook_ir::{BinaryOp, Block, CompareOp, Op, Size, Value};
use moonhook_runtime::layout::*;

/// A call of a library function by its canonical name, with `arguments` from the register behind `func` on, of which one result is wanted in `func`.
#[derive(Clone, Copy)]
pub struct Called<'n> {
    pub name: &'n str,
    pub func: usize,
    pub arguments: Option<usize>,
    pub want: i64,
}

/// Does it for strings and places within them, and goes on in `after`; goes on here where there is more to be done.
pub fn call(body: &mut Body<'_, '_, '_>, called: Called<'_>, after: Block) {
    let Called { name, func, arguments, want } = called;
    let made = match (name, arguments, want) {
        ("string.len", Some(1..), 1) => length,
        ("string.byte", Some(1 | 2), 1) => byte,
        ("string.sub", Some(2 | 3), 1) => cut,
        _ => return,
    };
    let (slow, _) = body.code().new_block(0);
    let tag = body.tag(func + 1);
    body.code().leave_if(CompareOp::Ne, tag, TAG_STRING as i32, slow, &[]);
    let text = body.payload(func + 1);
    let length = body.code().binary(BinaryOp::LShr, text, 32);
    let arguments: Vec<usize> = (2..=arguments.unwrap_or(0).min(3)).map(|number| func + number).collect();
    let (tag, payload) = made(body, (text, length), &arguments, slow);
    body.set(func, tag as i32, payload);
    let args = [body.frame, body.base];
    body.code().jump(after, &args);
    body.code().block = slow;
}

type Text = (Value, Value);

fn length(_: &mut Body<'_, '_, '_>, (_, length): Text, _: &[usize], _: Block) -> (i64, Value) {
    (TAG_INT, length)
}

/// Of `s:byte(i)`, and `s:byte()`, the byte.
fn byte(body: &mut Body<'_, '_, '_>, (text, length): Text, arguments: &[usize], slow: Block) -> (i64, Value) {
    let index = match arguments {
        [] => body.code().constant(0),
        [register, ..] => {
            let number = integer(body, *register, slow);
            body.code().add(number, -1)
        }
    };
    body.code().leave_if(CompareOp::UGe, index, length, slow, &[]);
    let address = body.code().binary(BinaryOp::Add, text, index);
    let base = body.code().arena(address);
    (TAG_INT, body.code().emit(Op::Load { size: Size::B1, signed: false, base, disp: 0 }))
}

/// Of `s:sub(i, j)` and `s:sub(i)` with places within the string, the part: it is where it is.
fn cut(body: &mut Body<'_, '_, '_>, (text, length): Text, arguments: &[usize], slow: Block) -> (i64, Value) {
    let first = integer(body, arguments[0], slow);
    let start = body.code().add(first, -1);
    let end = match arguments {
        [_, last, ..] => integer(body, *last, slow),
        _ => length,
    };
    body.code().leave_if(CompareOp::UGt, end, length, slow, &[]);
    body.code().leave_if(CompareOp::UGt, start, end, slow, &[]);
    let count = body.code().binary(BinaryOp::Sub, end, start);
    let count = body.code().binary(BinaryOp::Shl, count, 32);
    let address = body.code().binary(BinaryOp::Shl, text, 32);
    let address = body.code().binary(BinaryOp::LShr, address, 32);
    let address = body.code().binary(BinaryOp::Add, address, start);
    (TAG_STRING, body.code().binary(BinaryOp::Or, address, count))
}

fn integer(body: &mut Body<'_, '_, '_>, register: usize, slow: Block) -> Value {
    if !body.is_integer(register) {
        let tag = body.tag(register);
        body.code().leave_if(CompareOp::Ne, tag, TAG_INT as i32, slow, &[]);
    }
    body.payload(register)
}

/// Where to go on if two values are equal, and if not; with the arguments of the blocks.
pub struct Paths<'a> {
    pub equal: Block,
    pub other: Block,
    pub args: &'a [Value],
}

/// Whether a string is the constant one: a word tells where it is short. Goes on here where that takes a routine.
pub fn compare_with(
    body: &mut Body<'_, '_, '_>,
    text: Value,
    (payload, known): (u64, &[u8]),
    paths: &Paths<'_>,
) {
    let length = body.code().binary(BinaryOp::LShr, text, 32);
    body.code().leave_if(CompareOp::Ne, length, known.len() as i32, paths.other, paths.args);
    if known.len() > 8 {
        let payload = body.code().constant(payload as i64);
        return body.code().leave_if(CompareOp::Eq, text, payload, paths.equal, paths.args);
    }
    if known.is_empty() {
        body.code().jump(paths.equal, paths.args);
    } else {
        let mut bytes = [0; 8];
        bytes[..known.len()].copy_from_slice(known);
        let base = body.code().arena(text);
        // What follows a text can be read, too (`text_equal`).
        let read = body.code().load(base, 0);
        let unused = 64 - 8 * known.len() as i32;
        let read = if unused == 0 { read } else { body.code().binary(BinaryOp::Shl, read, unused) };
        let word = body.code().number(i64::from_le_bytes(bytes) << unused);
        body.code().branch(CompareOp::Eq, read, word, (paths.equal, paths.args), (paths.other, paths.args));
    }
    body.code().block = body.code().new_block(0).0;
}
