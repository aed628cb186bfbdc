//! Random expressions: integers, conditions, offsets.

use super::Generator;

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

impl Generator<'_> {
    pub(super) fn constant(&mut self) -> String {
        if self.random.once_in(3) {
            return (self.random.below(40) as i64 - 12).to_string();
        }
        format!("({})", self.random.pick(&CONSTANTS))
    }

    fn variable(&mut self) -> String {
        let recent = self.scope.integers.len().saturating_sub(4);
        let from = if self.random.once_in(3) { 0 } else { recent };
        match self.scope.integers.get(from..) {
            Some(names) if !names.is_empty() => self.random.pick(names).clone(),
            _ => self.constant(),
        }
    }

    /// An expression whose value is an integer; in parentheses where it needs them.
    pub(super) fn integer(&mut self, depth: usize) -> String {
        if depth == 0 {
            return if self.random.once_in(3) { self.constant() } else { self.variable() };
        }
        match self.random.below(22) {
            0..=2 => self.variable(),
            3 => self.constant(),
            4..=6 if self.scope.packet => self.read(),
            7..=9 => {
                let operator = *self.random.pick(&["+", "-", "*", "+", "-"]);
                format!("({} {operator} {})", self.integer(depth - 1), self.integer(depth - 1))
            }
            10..=11 => {
                let operator = *self.random.pick(&["&", "|", "~"]);
                format!("({} {operator} {})", self.integer(depth - 1), self.integer(depth - 1))
            }
            12 => self.division(depth),
            13 => self.shift(depth),
            14 => format!("({} {})", self.random.pick(&["-", "~"]).to_owned(), self.integer(depth - 1)),
            15 => format!(
                "({} and {} or {})",
                self.condition(1),
                self.integer(depth - 1),
                self.integer(depth - 1)
            ),
            16 => {
                let function = *self.random.pick(&["math.max", "math.min"]);
                format!("{function}({}, {})", self.integer(depth - 1), self.integer(depth - 1))
            }
            17 => format!("(t[{} & 15] or {})", self.integer(depth - 1), self.integer(depth - 1)),
            18 => format!("math.abs({})", self.integer(depth - 1)),
            19 => self.chosen(depth),
            _ => self.call(depth - 1).map_or_else(|| self.variable(), |(call, _)| format!("({call})")),
        }
    }

    /// The divisor is almost never zero.
    fn division(&mut self, depth: usize) -> String {
        let operator = *self.random.pick(&["//", "%"]);
        let (left, right) = (self.integer(depth - 1), self.integer(depth - 1));
        match self.random.below(8) {
            0 => format!("({left} {operator} {right})"),
            1..=3 => format!("({left} {operator} ({right} | 1))"),
            _ => {
                let divisor = *self.random.pick(&["2", "3", "-3", "8", "-16", "10", "255", "-1", "1000003"]);
                format!("({left} {operator} {divisor})")
            }
        }
    }

    fn shift(&mut self, depth: usize) -> String {
        let operator = *self.random.pick(&["<<", ">>"]);
        let left = self.integer(depth - 1);
        let count = match self.random.below(3) {
            0 => self.integer(depth - 1),
            1 => format!("({} & 63)", self.integer(depth - 1)),
            _ => self.random.below(70).to_string(),
        };
        format!("({left} {operator} {count})")
    }

    /// One of several by `select`.
    fn chosen(&mut self, depth: usize) -> String {
        let rest = format!("{}, {}", self.integer(depth - 1), self.integer(depth - 1));
        let number = self.random.pick(&["1", "2", "-1", "-2"]).to_string();
        format!("(select({number}, {rest}))")
    }

    /// A call of a helper function, and how many results it has.
    pub(super) fn call(&mut self, depth: usize) -> Option<(String, usize)> {
        if self.functions.is_empty() {
            return None;
        }
        let (name, parameters, results) = self.random.pick(&self.functions).clone();
        let arguments: Vec<String> = (0..parameters).map(|_| self.integer(depth.min(1))).collect();
        Some((format!("{name}({})", arguments.join(", ")), results))
    }

    fn read(&mut self) -> String {
        let accessors = [
            ("getuint8", 1),
            ("getbyte", 1),
            ("getint8", 1),
            ("getuint16", 2),
            ("getint16", 2),
            ("getuint32", 4),
            ("getint32", 4),
            ("getint64", 8),
            ("getnumber", 8),
        ];
        let (method, size) = *self.random.pick(&accessors);
        format!("pkt:{method}({})", self.offset(size))
    }

    /// Where `size` bytes are, mostly within the frame (which has 14 at least).
    pub(super) fn offset(&mut self, size: usize) -> String {
        match self.random.below(16) {
            0..=6 => self.random.below(15 - size).to_string(),
            7..=9 => format!("{} & {}", self.integer(1), if size == 8 { 6 } else { 7 }),
            10..=12 => format!("{} % (n - {})", self.integer(1), size - 1),
            13 => format!("n - {size}"),
            14 => (12 + self.random.below(40)).to_string(),
            _ => self.integer(1),
        }
    }

    pub(super) fn condition(&mut self, depth: usize) -> String {
        if depth > 0 {
            match self.random.below(10) {
                0 => return format!("({} and {})", self.condition(depth - 1), self.condition(depth - 1)),
                1 => return format!("({} or {})", self.condition(depth - 1), self.condition(depth - 1)),
                2 => return format!("not {}", self.condition(depth - 1)),
                3 if !self.scope.booleans.is_empty() => {
                    return self.random.pick(&self.scope.booleans).clone();
                }
                4 if self.scope.packet => {
                    let header = *self.random.pick(&["ip", "tcp", "udp", "vlan", "icmp"]);
                    return format!("(pkt.{header} ~= nil)");
                }
                5 => return format!("math.ult({}, {})", self.integer(1), self.integer(1)),
                _ => {}
            }
        }
        let operator = *self.random.pick(&["<", "<=", ">", ">=", "==", "~="]);
        format!("({} {operator} {})", self.integer(depth.min(1)), self.integer(depth.min(1)))
    }
}
