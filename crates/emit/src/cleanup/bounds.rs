//! What is known of a register or a word of the frame, and what operations make of it.

use crate::isa::{Word, class};
use moonhook_ir::{BinaryOp, CompareOp, eval};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Value {
    /// Anything, also an address.
    Any,
    /// The address so many bytes from the frame pointer.
    Frame(i32),
    /// A number without sign, with its bounds.
    Number(Bounds),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds {
    pub least: u64,
    pub most: u64,
}

const LOW: u64 = u32::MAX as u64;

impl Bounds {
    pub fn up_to(most: u64) -> Bounds {
        Bounds { least: 0, most }
    }

    pub fn known(self) -> Option<u64> {
        (self.least == self.most).then_some(self.least)
    }

    /// The low 32 bits.
    pub fn low(self) -> Bounds {
        match self.known() {
            Some(number) => Bounds { least: number & LOW, most: number & LOW },
            None if self.most <= LOW => self,
            None => Bounds::up_to(LOW),
        }
    }
}

impl Value {
    pub fn number(number: u64) -> Value {
        Value::Number(Bounds { least: number, most: number })
    }

    pub fn up_to(most: u64) -> Value {
        Value::Number(Bounds::up_to(most))
    }

    /// Bytes from the frame pointer, of an address of the frame.
    pub fn frame(self) -> Option<i32> {
        match self {
            Value::Frame(offset) => Some(offset),
            _ => None,
        }
    }

    pub fn known(self) -> Option<u64> {
        self.bounds().known()
    }

    /// Addresses are some number.
    pub fn bounds(self) -> Bounds {
        match self {
            Value::Number(bounds) => bounds,
            Value::Any | Value::Frame(_) => Bounds::up_to(u64::MAX),
        }
    }

    /// What holds of one or the other.
    pub fn join(self, other: Value) -> Value {
        match (self, other) {
            _ if self == other => self,
            (Value::Number(a), Value::Number(b)) => {
                Value::Number(Bounds { least: a.least.min(b.least), most: a.most.max(b.most) })
            }
            _ => Value::Any,
        }
    }
}

/// What an operation of two numbers gives, as far as the verifier knows it: nothing of divisions (`adjust_scalar_min_max_vals`,
/// kernel/bpf/verifier.c).
pub fn binary(op: BinaryOp, a: Bounds, b: Bounds) -> Bounds {
    if let (Some(a), Some(b)) = (a.known(), b.known()) {
        let number = eval::binary(op, a, b);
        return Bounds { least: number, most: number };
    }
    let checked = |least: u64, most: Option<u64>| match most {
        Some(most) => Bounds { least, most },
        None => Bounds::up_to(u64::MAX),
    };
    // All bits up to the highest that a number of that size has.
    let bits = |most: u64| u64::MAX.checked_shr(most.leading_zeros()).unwrap_or(0);
    match (op, b.known()) {
        (BinaryOp::Add, _) => checked(a.least.wrapping_add(b.least), a.most.checked_add(b.most)),
        (BinaryOp::Sub, _) if a.least >= b.most => checked(a.least - b.most, Some(a.most - b.least)),
        (BinaryOp::And, _) => Bounds::up_to(a.most.min(b.most)),
        (BinaryOp::Or, _) => checked(a.least.max(b.least), Some(bits(a.most | b.most))),
        (BinaryOp::Xor, _) => Bounds::up_to(bits(a.most | b.most)),
        (BinaryOp::LShr, Some(by)) if by < 64 => checked(a.least >> by, Some(a.most >> by)),
        (BinaryOp::Shl, Some(by)) if by < 64 && by <= a.most.leading_zeros().into() => {
            checked(a.least << by, Some(a.most << by))
        }
        _ => Bounds::up_to(u64::MAX),
    }
}

/// The same of their low 32 bits. Shift counts are taken modulo 32.
pub fn binary32(op: BinaryOp, a: Bounds, b: Bounds) -> Bounds {
    let (a, b) = (a.low(), b.low());
    match op {
        BinaryOp::SDiv | BinaryOp::SMod => Bounds::up_to(LOW),
        BinaryOp::AShr => match (a.known(), b.known()) {
            (Some(a), Some(by)) => Bounds::known32(((a as i32) >> (by & 31)) as u32),
            _ => Bounds::up_to(LOW),
        },
        BinaryOp::Shl | BinaryOp::LShr => match b.known() {
            Some(by) => binary(op, a, Bounds { least: by & 31, most: by & 31 }).low(),
            None => Bounds::up_to(LOW),
        },
        _ => binary(op, a, b).low(),
    }
}

impl Bounds {
    fn known32(number: u32) -> Bounds {
        Bounds { least: number.into(), most: number.into() }
    }
}

/// How the comparison of a jump goes, if it always goes one way.
pub fn compare(word: &Word, a: Bounds, b: Bounds) -> Option<bool> {
    let op = word.compare_op()?;
    let is_short = word.class() == class::JMP32;
    let (a, b) = if is_short { (a.low(), b.low()) } else { (a, b) };
    if let (Some(a), Some(b)) = (a.known(), b.known()) {
        let extended = |number: u64| if is_short { number as i32 as u64 } else { number };
        return Some(eval::compare(op, extended(a), extended(b)));
    }
    let largest = if is_short { i32::MAX as u64 } else { i64::MAX as u64 };
    let is_plain = a.most <= largest && b.most <= largest;
    let below = |is_strict: bool| {
        let (is_always, is_never) = match is_strict {
            true => (a.most < b.least, a.least >= b.most),
            false => (a.most <= b.least, a.least > b.most),
        };
        if is_always || is_never { Some(is_always) } else { None }
    };
    let not = |is: Option<bool>| is.map(|is| !is);
    let is_apart = a.most < b.least || a.least > b.most;
    match op {
        CompareOp::Eq => is_apart.then_some(false),
        CompareOp::Ne => is_apart.then_some(true),
        CompareOp::ULt => below(true),
        CompareOp::ULe => below(false),
        CompareOp::UGt => not(below(false)),
        CompareOp::UGe => not(below(true)),
        CompareOp::SLt if is_plain => below(true),
        CompareOp::SLe if is_plain => below(false),
        CompareOp::SGt if is_plain => not(below(false)),
        CompareOp::SGe if is_plain => not(below(true)),
        _ => None,
    }
}

/// What is known of `a` where a comparison with a known number holds; `None` if it cannot hold.
pub fn where_holds(op: CompareOp, a: Bounds, number: u64) -> Option<Bounds> {
    let Bounds { mut least, mut most } = a;
    match op {
        CompareOp::Eq => (least, most) = (least.max(number), most.min(number)),
        CompareOp::Ne if least == number => least = least.checked_add(1)?,
        CompareOp::Ne if most == number => most = most.checked_sub(1)?,
        CompareOp::ULt => most = most.min(number.checked_sub(1)?),
        CompareOp::ULe => most = most.min(number),
        CompareOp::UGt => least = least.max(number.checked_add(1)?),
        CompareOp::UGe => least = least.max(number),
        _ => {}
    }
    (least <= most).then_some(Bounds { least, most })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::{self, Source};

    const OPS: [BinaryOp; 13] = {
        use BinaryOp::*;
        [Add, Sub, Mul, UDiv, UMod, SDiv, SMod, And, Or, Xor, Shl, LShr, AShr]
    };
    const COMPARISONS: [CompareOp; 11] = {
        use CompareOp::*;
        [Eq, Ne, ULt, ULe, UGt, UGe, SLt, SLe, SGt, SGe, Test]
    };
    const NUMBERS: [u64; 14] =
        [0, 1, 2, 7, 31, 33, 255, 0x7fff_ffff, 0x8000_0000, LOW, LOW + 1, i64::MAX as u64, 1 << 63, u64::MAX];

    /// All bounds between the numbers, and those among the numbers that are within.
    fn all() -> impl Iterator<Item = (Bounds, Vec<u64>)> {
        let pairs = NUMBERS.iter().flat_map(|least| NUMBERS.iter().map(move |most| (*least, *most)));
        pairs.filter(|(least, most)| least <= most).map(|(least, most)| {
            let within = NUMBERS.into_iter().filter(|number| (least..=most).contains(number));
            (Bounds { least, most }, within.collect())
        })
    }

    fn is_within(number: u64, bounds: Bounds) -> bool {
        (bounds.least..=bounds.most).contains(&number)
    }

    #[test]
    fn what_operations_give_is_within_the_bounds() {
        for (a, lefts) in all() {
            for (b, rights) in all() {
                let pairs = || lefts.iter().flat_map(|x| rights.iter().map(move |y| (*x, *y)));
                for (op, (x, y)) in OPS.into_iter().flat_map(|op| pairs().map(move |pair| (op, pair))) {
                    let bounds = binary(op, a, b);
                    assert!(is_within(eval::binary(op, x, y), bounds), "{op:?} {a:?} {b:?}: {bounds:?}");
                    let short = match op {
                        BinaryOp::Shl => u64::from((x as u32) << (y & 31)),
                        BinaryOp::LShr => u64::from((x as u32) >> (y & 31)),
                        BinaryOp::AShr => u64::from(((x as i32) >> (y & 31)) as u32),
                        BinaryOp::SDiv | BinaryOp::SMod => 0,
                        _ => eval::binary(op, x & LOW, y & LOW) & LOW,
                    };
                    let bounds = binary32(op, a, b);
                    assert!(is_within(short, bounds), "{op:?} of 32 bits {a:?} {b:?}: {bounds:?}");
                }
            }
        }
    }

    #[test]
    fn comparisons_go_as_they_are_said_to() {
        for (a, lefts) in all() {
            for (b, rights) in all() {
                for op in COMPARISONS {
                    let long = isa::jump_if(op, 1, Source::Register(2), 0);
                    let short = Word { code: long.code & !7 | class::JMP32, ..long };
                    let (said, said_short) = (compare(&long, a, b), compare(&short, a, b));
                    for (&x, &y) in lefts.iter().flat_map(|x| rights.iter().map(move |y| (x, y))) {
                        let holds = eval::compare(op, x, y);
                        assert!(said.is_none_or(|said| said == holds), "{op:?} {a:?} {b:?}");
                        let holds = eval::compare(op, x as i32 as u64, y as i32 as u64);
                        assert!(said_short.is_none_or(|said| said == holds), "{op:?} of 32 bits {a:?} {b:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn where_a_comparison_holds_are_the_numbers_for_which_it_does() {
        for (a, lefts) in all() {
            for (op, number) in COMPARISONS.into_iter().flat_map(|op| NUMBERS.map(|number| (op, number))) {
                let bounds = where_holds(op, a, number);
                for x in lefts.iter().filter(|x| eval::compare(op, **x, number)) {
                    assert!(bounds.is_some_and(|bounds| is_within(*x, bounds)), "{op:?} {a:?} {number}");
                }
            }
        }
    }
}
