//! Random scripts of eCLAT, written in C at the same time.

use moonhook_proof::random::Random;
use std::fmt::Write as _;

const TYPES: [(&str, &str); 8] = [
    ("u8", "uint8_t"),
    ("u16", "uint16_t"),
    ("u32", "uint32_t"),
    ("u64", "uint64_t"),
    ("s8", "int8_t"),
    ("s16", "int16_t"),
    ("s32", "int32_t"),
    ("s64", "int64_t"),
];

/// The same text twice: in eCLAT, and in C.
#[derive(Clone, Default)]
pub struct Both {
    pub eclat: String,
    pub c: String,
}

impl Both {
    fn same(text: impl Into<String>) -> Both {
        let text = text.into();
        Both { eclat: text.clone(), c: text }
    }

    fn new(eclat: impl Into<String>, c: impl Into<String>) -> Both {
        Both { eclat: eclat.into(), c: c.into() }
    }
}

/// A pattern with `$` in the places of the parts.
fn filled(pattern: &str, parts: &[&str]) -> String {
    let mut parts = parts.iter();
    pattern.split('$').enumerate().fold(String::new(), |text, (number, piece)| {
        let part = if number > 0 { parts.next().copied().unwrap_or_default() } else { "" };
        text + part + piece
    })
}

/// A chain being written.
struct Chain {
    random: Random,
    /// Names of variables that can be read, and how many of them can be assigned: counters of loops cannot.
    variables: Vec<(String, bool)>,
    /// Chains before it, with their parameters.
    callable: Vec<(String, usize)>,
    names: usize,
    /// Nothing aborts but what reads beyond small packets.
    is_calm: bool,
}

impl Chain {
    fn expression(&mut self, depth: u32) -> Both {
        if depth == 0 || self.random.once_in(6) {
            return self.leaf();
        }
        let (one, other) = (self.expression(depth - 1), self.expression(depth - 1));
        let patterns = [
            ("($ + $)", "($ + $)"),
            ("($ - $)", "($ - $)"),
            ("($ * $)", "($ * $)"),
            ("($ & $)", "($ & $)"),
            ("($ | $)", "($ | $)"),
            ("($ ^ $)", "($ ^ $)"),
            ("($ / (($ & 0xff) | 1))", "($ / (($ & 0xff) | 1))"),
            ("($ % (($ & 0x7f) + 1))", "($ % (($ & 0x7f) + 1))"),
            ("($ << ($ & 15))", "($ << ($ & 15))"),
            ("($ >> ($ & 31))", "($ >> ($ & 31))"),
            ("($ < $)", "($ < $)"),
            ("($ <= $)", "($ <= $)"),
            ("($ > $)", "($ > $)"),
            ("($ >= $)", "($ >= $)"),
            ("($ == $)", "($ == $)"),
            ("($ != $)", "($ != $)"),
            ("($ and $)", "($ && $)"),
            ("($ or $)", "($ || $)"),
            ("(not $ + $)", "(!$ + $)"),
            ("(-$ ^ $)", "(-$ ^ $)"),
            ("(~$ - $)", "(~$ - $)"),
            // Without brackets: precedence is C's.
            ("($ & 4 == $)", "($ & 4 == $)"),
            ("(1 + $ << 3 | $ > 2)", "(1 + $ << 3 | $ > 2)"),
            ("(not $ == $)", "(!$ == $)"),
        ];
        let (eclat, c) = *self.random.pick(&patterns);
        Both::new(filled(eclat, &[&one.eclat, &other.eclat]), filled(c, &[&one.c, &other.c]))
    }

    fn leaf(&mut self) -> Both {
        match self.random.below(10) {
            0 => Both::same(self.random.below(300).to_string()),
            1 => {
                let numbers = [
                    "0x7fffffff",
                    "0x80000000",
                    "0xffffffff",
                    "2147483648",
                    "0x123456789abcdef",
                    "0x8000000000000000",
                    "65535",
                ];
                Both::same(*self.random.pick(&numbers))
            }
            2 => Both::new("true", "1"),
            3..=4 => self.read(),
            _ => {
                let names: Vec<String> = self.variables.iter().map(|(name, _)| name.clone()).collect();
                Both::same(self.random.pick(&names).clone())
            }
        }
    }

    fn read(&mut self) -> Both {
        let bits = *self.random.pick(&[8, 16, 32, 64]);
        let offset = self.offset();
        Both::new(
            format!("Packet.readU{bits}({})", offset.eclat),
            format!("((uint{bits}_t)rd({}, {bits}))", offset.c),
        )
    }

    /// Within packets, mostly; calculated, too, so that its bounds have to be known where it is used, which may be behind a loop.
    fn offset(&mut self) -> Both {
        if !self.random.once_in(if self.is_calm { 3 } else { 12 }) {
            return Both::same(self.random.below(28).to_string());
        }
        let names: Vec<String> = self.variables.iter().map(|(name, _)| name.clone()).collect();
        let name = self.random.pick(&names).clone();
        match (self.is_calm, self.random.below(3)) {
            (false, _) => Both::same(format!("({name} & 127)")),
            (true, 0) => Both::same(format!("({name} & 31)")),
            (true, 1) => Both::same(format!("(({name} & 0xff) % 29)")),
            (true, _) => Both::same(format!("(({name} & 0xff) >> 3)")),
        }
    }

    fn fresh(&mut self) -> String {
        self.names += 1;
        format!("v{}", self.names)
    }

    fn lines(&mut self, indent: usize, count: usize, out: &mut Both) {
        for _ in 0..count {
            self.line(indent, out);
        }
    }

    fn put(out: &mut Both, indent: usize, line: &Both) {
        let _ = writeln!(out.eclat, "{}{}", " ".repeat(indent * 4), line.eclat);
        let _ = writeln!(out.c, "{}{}", " ".repeat(indent * 4), line.c);
    }

    fn line(&mut self, indent: usize, out: &mut Both) {
        let value = self.expression(3);
        match self.random.below(if indent > 3 { 4 } else { 9 }) {
            8 => self.kept(indent, &value, out),
            0 => {
                let ((eclat, c), name) = (*self.random.pick(&TYPES), self.fresh());
                let before = self.random.once_in(2);
                let declared = if before { format!("{name}: {eclat}") } else { format!("{eclat} : {name}") };
                Self::put(
                    out,
                    indent,
                    &Both::new(format!("{declared} = {}", value.eclat), format!("{c} {name} = {};", value.c)),
                );
                self.variables.push((name, true));
            }
            1..=2 => {
                let names: Vec<String> = self
                    .variables
                    .iter()
                    .filter(|(_, assignable)| *assignable)
                    .map(|(name, _)| name.clone())
                    .collect();
                let name = self.random.pick(&names).clone();
                let operator = *self.random.pick(&["=", "+=", "-=", "*=", "&=", "|=", "^="]);
                let line = Both::new(
                    format!("{name} {operator} {}", value.eclat),
                    format!("{name} {operator} {};", value.c),
                );
                Self::put(out, indent, &line);
            }
            3 => {
                let (bits, offset) = (*self.random.pick(&[8, 16, 32, 64]), self.offset());
                let eclat = format!("Packet.writeU{bits}({}, {})", offset.eclat, value.eclat);
                let c = format!("wr({}, {bits}, {});", offset.c, value.c);
                Self::put(out, indent, &Both::new(eclat, c));
            }
            4 => self.conditional(indent, &value, out),
            5 => self.counted(indent, out),
            6 => self.repeated(indent, &value, out),
            _ => self.called(indent, out),
        }
    }

    /// A number with bounds, a loop, and then a read at that offset: behind the loop the verifier may not know the bounds any more.
    fn kept(&mut self, indent: usize, value: &Both, out: &mut Both) {
        let (offset, read) = (self.fresh(), self.fresh());
        let (mask, bits) = (*self.random.pick(&[7, 15, 31]), *self.random.pick(&[8, 16, 32, 64]));
        let first = Both::new(
            format!("u64: {offset} = ({}) & {mask}", value.eclat),
            format!("uint64_t {offset} = ({}) & {mask};", value.c),
        );
        Self::put(out, indent, &first);
        match self.random.once_in(2) {
            true => self.counted(indent, out),
            false => {
                let condition = self.expression(1);
                self.repeated(indent, &condition, out);
            }
        }
        let second = Both::new(
            format!("u64: {read} = Packet.readU{bits}({offset})"),
            format!("uint64_t {read} = ((uint{bits}_t)rd({offset}, {bits}));"),
        );
        Self::put(out, indent, &second);
        self.variables.push((read, true));
    }

    /// Lines in a block, whose variables end with it.
    fn block(&mut self, indent: usize, out: &mut Both) {
        let outer = self.variables.len();
        let count = 1 + self.random.below(3);
        self.lines(indent + 1, count, out);
        self.variables.truncate(outer);
    }

    fn conditional(&mut self, indent: usize, value: &Both, out: &mut Both) {
        Self::put(out, indent, &Both::new(format!("if {}:", value.eclat), format!("if ({}) {{", value.c)));
        self.block(indent, out);
        for _ in 0..self.random.below(5).saturating_sub(1) {
            let other = self.expression(2);
            Self::put(
                out,
                indent,
                &Both::new(format!("elif {}:", other.eclat), format!("}} else if ({}) {{", other.c)),
            );
            self.block(indent, out);
        }
        if self.random.once_in(2) {
            Self::put(out, indent, &Both::new("else:", "} else {"));
            self.block(indent, out);
        }
        if self.random.once_in(8) {
            let given = self.expression(1);
            let line = Both::new(format!("    return {}", given.eclat), format!("    return {};", given.c));
            Self::put(out, indent, &line);
        }
        out.c.push_str("}\n");
    }

    fn counted(&mut self, indent: usize, out: &mut Both) {
        let name = self.fresh();
        let (first, end) = (self.random.below(20), self.random.below(20));
        // What is negated without a sign goes up in C.
        let rare = ["-0xffffffff", "-0xfffffffd", "-0x3", "-4294967295", "0x2", "-0xffffffffffffffff"];
        let step = match self.random.below(6) {
            0 => (*self.random.pick(&rare)).to_string(),
            1..=2 => format!("-{}", 1 + self.random.below(4)),
            _ => (1 + self.random.below(4)).to_string(),
        };
        let range = format!("{first}, {end}, {step}");
        let goes_on = format!("(({step}) < 0 ? n_{name} > {end} : n_{name} < {end})");
        let c = format!(
            "for (int64_t n_{name} = {first}; {goes_on}; n_{name} += {step}) {{ int64_t {name} = n_{name};"
        );
        Self::put(out, indent, &Both::new(format!("for {name} in range({range}):"), c));
        self.variables.push((name, false));
        let outer = self.variables.len();
        self.block(indent, out);
        self.variables.truncate(outer - 1);
        out.c.push_str("}\n");
    }

    fn repeated(&mut self, indent: usize, value: &Both, out: &mut Both) {
        let name = self.fresh();
        Self::put(out, indent, &Both::new(format!("u32: {name} = 0"), format!("uint32_t {name} = 0;")));
        let most = 1 + self.random.below(9);
        let eclat = format!("while {name} < {most} and {}:", value.eclat);
        Self::put(out, indent, &Both::new(eclat, format!("while ({name} < {most} && {}) {{", value.c)));
        Self::put(out, indent + 1, &Both::new(format!("{name} += 1"), format!("{name} += 1;")));
        self.variables.push((name, false));
        self.block(indent, out);
        out.c.push_str("}\n");
    }

    fn called(&mut self, indent: usize, out: &mut Both) {
        if self.callable.is_empty() {
            return Self::put(out, indent, &Both::new("pass", ";"));
        }
        let callable = self.callable.clone();
        let (callee, count) = self.random.pick(&callable).clone();
        let arguments: Vec<Both> = (0..count).map(|_| self.expression(1)).collect();
        let all = |part: fn(&Both) -> &str| arguments.iter().map(part).collect::<Vec<_>>().join(", ");
        let name = self.fresh();
        let eclat = format!("u64: {name} = {callee}({})", all(|both| &both.eclat));
        Self::put(
            out,
            indent,
            &Both::new(eclat, format!("uint64_t {name} = {callee}({});", all(|both| &both.c))),
        );
        self.variables.push((name, true));
    }
}

/// A script with a chain `main` of two parameters, and others that it may call.
pub fn script(seed: u64, number: usize, is_calm: bool) -> Both {
    let mut random = Random::new(seed);
    let (mut out, mut callable) = (Both::default(), Vec::new());
    let count = random.below(3);
    for chain in 0..=count {
        let is_main = chain == count;
        let name = if is_main { format!("main{number}") } else { format!("c{number}_{chain}") };
        let types: Vec<(&str, &str)> = match is_main {
            true => vec![TYPES[3], TYPES[7]],
            false => (0..1 + random.below(3)).map(|_| *random.pick(&TYPES)).collect(),
        };
        let parameters = |written: &dyn Fn(usize, &(&str, &str)) -> String| {
            types.iter().enumerate().map(|(at, ty)| written(at, ty)).collect::<Vec<_>>().join(", ")
        };
        let eclat = parameters(&|at, (eclat, _)| format!("{eclat}: p{at}"));
        let c = parameters(&|at, (_, c)| format!("{c} p{at}"));
        Chain::put(
            &mut out,
            0,
            &Both::new(format!("def {name}({eclat}):"), format!("static uint64_t {name}({c}) {{")),
        );
        let mut writer = Chain {
            random: Random::new(random.word()),
            variables: (0..types.len()).map(|at| (format!("p{at}"), true)).collect(),
            callable: callable.clone(),
            names: 0,
            is_calm,
        };
        let lines = 2 + writer.random.below(6);
        writer.lines(1, lines, &mut out);
        let given = writer.expression(2);
        Chain::put(
            &mut out,
            1,
            &Both::new(format!("return {}", given.eclat), format!("return {};\n}}", given.c)),
        );
        callable.push((name, types.len()));
    }
    out
}
