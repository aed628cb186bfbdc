//! Random C programs over numbers of all widths.

use crate::common::Random;
use std::fmt::Write as _;

/// Bytes of a frame that a program reads, and where it writes its result.
pub const FRAME: usize = 128;

const TYPES: [&str; 8] = ["u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64"];
const VARIABLES: usize = 6;

/// A generator for one instruction set: that of v3 has no signed division.
pub struct Generator<'r> {
    pub random: &'r mut Random,
    pub has_signed_division: bool,
}

/// What all programs use.
pub const PRELUDE: &str = "
static inline u64 mix(u64 sum, u64 by) { return (sum ^ by) * 0x9e3779b97f4a7c15ULL + (sum >> 7); }
// An index that the compiler knows nothing about: else it makes addresses with `|`, which the verifier refuses.
static inline u64 at(u64 n) {
    asm volatile(\"\" : \"+r\"(n)); n &= 7; asm volatile(\"\" : \"+r\"(n));
    return n;
}
";

impl Generator<'_> {
    /// A program of that name, and the function that it calls.
    pub fn program(&mut self, name: &str) -> String {
        let mut text = String::new();
        let (ty, parameter) = (*self.random.one_of(&TYPES), *self.random.one_of(&TYPES));
        let body = {
            let mut inner = Scope { generator: self, has_memory: false, loops: 0 };
            inner.expression(3)
        };
        let parameters = (0..VARIABLES).map(|n| format!("{parameter} v{n}")).take(4).collect::<Vec<_>>();
        let rest: String = (4..VARIABLES).map(|n| format!("{parameter} v{n} = v{} + {n}; ", n - 4)).collect();
        let _ = writeln!(
            text,
            "static noinline {ty} {name}_inner({}) {{ {rest} return {body}; }}",
            parameters.join(", ")
        );
        let _ = writeln!(
            text,
            "SEC(\"xdp\") int {name}(struct xdp_md *ctx) {{
    u8 *d = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
    if (d + {FRAME} > end) return 1;"
        );
        for number in 0..VARIABLES {
            let (ty, at) = (*self.random.one_of(&TYPES), self.random.below(FRAME - 8));
            let _ = writeln!(text, "    {ty} v{number} = *({ty} *)(d + {at});");
        }
        let ty = *self.random.one_of(&TYPES);
        let _ = writeln!(text, "    volatile {ty} t[8] = {{}}; t[3] = v0; t[5] = v1;");
        let mut scope = Scope { generator: self, has_memory: true, loops: 1 };
        for _ in 0..6 {
            // Few are in one another: the verifier walks each path.
            let depth = if scope.random().one_in(4) { 2 } else { 1 };
            let statement = scope.statement(depth);
            let _ = writeln!(text, "    {statement}");
        }
        let calls = (0..4).map(|_| scope.expression(1)).collect::<Vec<_>>().join(", ");
        let _ = writeln!(text, "    u64 sum = {name}_inner({calls});");
        for number in 0..VARIABLES {
            let _ = writeln!(text, "    sum = mix(sum, v{number});");
        }
        let _ = writeln!(text, "    for (int i = 0; i < 8; i++) sum = mix(sum, t[i]);");
        let _ = writeln!(text, "    *(u64 *)(d + 16) = sum; return sum;\n}}");
        text
    }
}

/// What an expression can name.
struct Scope<'g, 'r> {
    generator: &'g mut Generator<'r>,
    has_memory: bool,
    /// Loops that can still be made: the verifier walks each turn of each.
    loops: usize,
}

impl Scope<'_, '_> {
    fn random(&mut self) -> &mut Random {
        self.generator.random
    }

    fn ty(&mut self) -> &'static str {
        TYPES[self.random().below(TYPES.len())]
    }

    fn variable(&mut self) -> String {
        format!("v{}", self.random().below(VARIABLES))
    }

    fn statement(&mut self, depth: usize) -> String {
        let (variable, value) = (self.variable(), self.expression(3));
        match self.random().below(if depth == 0 { 4 } else { 7 }) {
            0 => format!("t[at({})] = {value};", self.variable()),
            1 => {
                let operator = *self.random().one_of(&["+", "-", "*", "^", "|", "&"]);
                format!("{variable} {operator}= {value};")
            }
            4 => {
                let inner = self.statement(depth - 1);
                format!("if ({value}) {{ {inner} }} else {{ {} }}", self.statement(depth - 1))
            }
            5 if self.loops > 0 => {
                self.loops -= 1;
                // A variable bound, which the verifier sees.
                let inner = self.statement(0);
                format!(
                    "{{ u32 n = (u32)({value}) & 3;\n#pragma clang loop unroll(disable)\nfor (u32 i = 0; i < n; i++) {{ {inner} {variable} += i; }} }}"
                )
            }
            6 => {
                let inner = self.statement(depth - 1);
                let more = self.statement(0);
                format!(
                    "switch ((u8)({value}) & 3) {{ case 0: {inner} break; case 1: {variable}++; break; default: {more} }}"
                )
            }
            _ => format!("{variable} = {value};"),
        }
    }

    fn expression(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.leaf();
        }
        let (a, b) = (self.expression(depth - 1), self.expression(depth - 1));
        match self.random().below(14) {
            0..4 => format!("({a} {} {b})", self.random().one_of(&["+", "-", "*", "&", "|", "^"])),
            4 | 5 => self.division(&a, &b),
            6 | 7 => self.shift(&a, &b),
            8 => format!("({a} {} {b})", self.random().one_of(&["<", "<=", ">", ">=", "==", "!="])),
            9 => {
                let ty = self.ty();
                format!("(({ty})({a}) {} ({ty})({b}))", self.random().one_of(&["<", "<=", ">", ">=", "=="]))
            }
            10 => format!("({}({a}))", self.random().one_of(&["-", "~", "!"])),
            11 => format!("({})({a})", self.ty()),
            12 => format!("__builtin_bswap{}({a})", self.random().one_of(&["16", "32", "64"])),
            _ => format!("({a} ? {b} : {})", self.leaf()),
        }
    }

    /// By zero, too, where the compiler does not see it.
    fn division(&mut self, a: &str, b: &str) -> String {
        let unsigned = ["u32", "u64"];
        let all = ["u32", "u64", "s32", "s64"];
        let is_signed = self.generator.has_signed_division;
        let ty = *self.random().one_of(if is_signed { &all[..] } else { &unsigned[..] });
        let by = match self.random().below(4) {
            0 => format!("{}", self.random().below(1000) + 1),
            1 => format!("(({ty})({b}) | 1)"),
            _ => format!("({ty}){}", self.variable()),
        };
        format!("(({ty})({a}) {} {by})", self.random().one_of(&["/", "%"]))
    }

    fn shift(&mut self, a: &str, b: &str) -> String {
        let (ty, bits) = *self.random().one_of(&[("u32", 31), ("s32", 31), ("u64", 63), ("s64", 63)]);
        let by = match self.random().below(3) {
            0 => format!("{}", self.random().below(bits + 1)),
            _ => format!("(({b}) & {bits})"),
        };
        format!("(({ty})({a}) {} {by})", self.random().one_of(&["<<", ">>"]))
    }

    fn leaf(&mut self) -> String {
        let kinds = if self.has_memory { 6 } else { 4 };
        match self.random().below(kinds) {
            0 => {
                let shift = self.random().below(64);
                format!("{}ULL", self.random().next() >> shift)
            }
            1 => format!("({})", self.random().below(200) as i64 - 100),
            4 => format!("t[at({})]", self.variable()),
            5 => {
                let (ty, at) = (self.ty(), self.random().below(FRAME - 8));
                format!("*({ty} *)(d + {at})")
            }
            _ => self.variable(),
        }
    }
}
