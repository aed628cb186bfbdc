//! Which register has which argument of a function, by types that are made here as BTF.

use moonhook_btf::{Content, Convention, Event, Place, TypeId, Types, functions, nearest};

/// BTF that grows.
struct Btf {
    strings: Vec<u8>,
    words: Vec<u32>,
    count: u32,
}

impl Btf {
    fn new() -> Btf {
        Btf { strings: vec![0], words: Vec::new(), count: 0 }
    }

    /// A type of a kind (include/uapi/linux/btf.h), with its members, or what else follows.
    fn add(&mut self, name: &str, kind: u32, (members, last): (u32, u32), rest: &[u32]) -> u32 {
        let name = self.string(name);
        self.words.extend([name, (kind << 24) | members, last]);
        self.words.extend(rest);
        self.count += 1;
        self.count
    }

    fn string(&mut self, text: &str) -> u32 {
        let at = self.strings.len() as u32;
        self.strings.extend(text.bytes().chain([0]));
        if text.is_empty() { 0 } else { at }
    }

    fn integer(&mut self, name: &str, bytes: u32) -> u32 {
        self.add(name, 1, (0, bytes), &[(1 << 24) | (8 * bytes)])
    }

    fn pointer(&mut self, to: u32) -> u32 {
        self.add("", 2, (0, to), &[])
    }

    fn structure(&mut self, name: &str, bytes: u32, fields: &[(&str, u32, u32)]) -> u32 {
        let fields: Vec<[u32; 3]> =
            fields.iter().map(|(name, of, at)| [self.string(name), *of, 8 * at]).collect();
        self.add(name, 4, (fields.len() as u32, bytes), fields.as_flattened())
    }

    fn function(&mut self, name: &str, result: u32, parameters: &[(&str, u32)]) {
        let parameters: Vec<[u32; 2]> =
            parameters.iter().map(|(name, of)| [self.string(name), *of]).collect();
        let prototype = self.add("", 13, (parameters.len() as u32, result), parameters.as_flattened());
        self.add(name, 12, (1, prototype), &[]);
    }

    fn types(self) -> Types {
        let (types, strings) = (4 * self.words.len() as u32, self.strings.len() as u32);
        let header = [0x0001_eb9f, 24, 0, types, types, strings];
        let words = header.into_iter().chain(self.words).flat_map(u32::to_ne_bytes);
        Types::parse(words.chain(self.strings).collect()).unwrap()
    }
}

const INT: u32 = 1;
const SOCK: u32 = 5;
const PAIR: u32 = 6;
const BIG: u32 = 7;
const WIDE: u32 = 8;
const VOID: u32 = 0;

/// Functions of a kernel whose registers are in a structure of these fields.
fn kernel(registers: impl FnOnce(&mut Btf, u32)) -> Types {
    let mut btf = Btf::new();
    let int = btf.integer("int", 4);
    let long = btf.integer("unsigned long", 8);
    let wide = btf.integer("__int128", 16);
    let sock = btf.structure("sock", 8, &[("family", int, 0)]);
    assert_eq!(btf.pointer(sock), SOCK);
    assert_eq!(btf.structure("pair", 16, &[("a", long, 0), ("b", long, 8)]), PAIR);
    assert_eq!(btf.structure("big", 24, &[("a", long, 0), ("b", long, 8), ("c", long, 16)]), BIG);
    assert_eq!((int, btf.add("wide", 8, (0, wide), &[])), (INT, WIDE));
    let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
    let nine: Vec<_> = names.map(|name| (name, INT)).into();
    btf.function("connect", INT, &[("sk", SOCK), ("", INT)]);
    btf.function("nothing", VOID, &[]);
    btf.function("printk", INT, &[("first", SOCK), ("", VOID)]);
    btf.function("nine", SOCK, &nine);
    btf.function("pairs", PAIR, &[("p", PAIR), ("n", INT)]);
    btf.function("bigs", BIG, &[("b", BIG), ("n", INT)]);
    btf.function("wides", INT, &[("n", INT), ("w", WIDE), ("m", INT)]);
    let parameters = |before: usize| [&nine[..before], &[("p", PAIR), ("last", INT)]].concat();
    btf.function("late5", INT, &parameters(5));
    btf.function("late7", INT, &parameters(7));
    registers(&mut btf, long);
    btf.types()
}

fn x86() -> Types {
    kernel(|btf, long| {
        let fields = [("r9", 64), ("r8", 72), ("ax", 80), ("cx", 88), ("dx", 96), ("si", 104), ("di", 112)];
        btf.structure("pt_regs", 168, &fields.map(|(name, at)| (name, long, at)));
    })
}

fn arm() -> Types {
    kernel(|btf, long| {
        let registers = btf.add("", 3, (0, 0), &[long, INT, 31]);
        btf.structure("pt_regs", 336, &[("regs", registers, 0), ("pstate", long, 264)]);
    })
}

fn shown(event: Option<Event>) -> Vec<(String, u32)> {
    let arguments = event.expect("a function").arguments.into_iter();
    let place = |place| match place {
        Place::Word(at) => at,
        other => panic!("{other:?}"),
    };
    arguments.map(|argument| (argument.name.to_string(), place(argument.place))).collect()
}

fn check(types: &Types, expected: &[(&str, &[(&str, u32)])]) {
    let convention = Convention::of(types).expect("a machine");
    for (name, expected) in expected {
        let found = shown(convention.call(types, name));
        let found: Vec<(&str, u32)> = found.iter().map(|(name, at)| (name.as_str(), *at)).collect();
        assert_eq!(&found, expected, "{name}");
    }
}

#[test]
fn arguments_are_in_the_registers_of_x86_64() {
    let types = x86();
    let six = [("a", 112), ("b", 104), ("c", 96), ("d", 88), ("e", 72), ("f", 64)];
    check(
        &types,
        &[
            ("connect", &[("sk", 112), ("arg1", 104)]),
            ("nothing", &[]),
            ("printk", &[("first", 112)]),
            ("nine", &six),
            ("pairs", &[("p", 112), ("n", 96)]),
            // The result is written where the first register says; what is longer than two registers is on the stack.
            ("bigs", &[("n", 104)]),
            ("wides", &[("n", 112), ("w", 104), ("m", 88)]),
            ("late5", &[&six[..5], &[("last", 64)]].concat()),
            ("late7", &six),
        ],
    );
}

#[test]
fn arguments_are_in_the_registers_of_arm_64() {
    let types = arm();
    let eight: Vec<_> = ["a", "b", "c", "d", "e", "f", "g", "h"].into_iter().zip((0..).step_by(8)).collect();
    check(
        &types,
        &[
            ("connect", &[("sk", 0), ("arg1", 8)]),
            ("nine", &eight),
            ("pairs", &[("p", 0), ("n", 16)]),
            // The register has the address of a copy.
            ("bigs", &[("b", 0), ("n", 8)]),
            ("wides", &[("n", 0), ("w", 16), ("m", 32)]),
            ("late5", &[&eight[..5], &[("p", 40), ("last", 56)]].concat()),
            // What follows something on the stack is there, too.
            ("late7", &eight[..7]),
        ],
    );
}

#[test]
fn results_are_typed_and_there_is_none_of_void() {
    for (types, at) in [(x86(), 80), (arm(), 0)] {
        let convention = Convention::of(&types).unwrap();
        let result = |name: &str| convention.return_of(&types, name).map(|event| event.arguments);
        let connect = result("connect").unwrap();
        assert_eq!((&*connect[0].name, connect[0].place), ("ret", Place::Word(at)));
        let number = Content::Number { bytes: 4, signed: true, is_enumeration: false };
        assert_eq!(connect[0].content, number);
        assert_eq!(result("nine").unwrap()[0].content, Content::Structure(TypeId(4)));
        assert_eq!(result("nothing"), Some(vec![]));
        assert_eq!((result("none"), convention.call(&types, "pair")), (None, None));
    }
}

#[test]
fn functions_have_names_and_other_machines_are_not_known() {
    let types = x86();
    assert_eq!(nearest("conect", functions(&types)), ["connect"]);
    assert_eq!(Convention::of(&kernel(|_, _| {})), None);
    let other = kernel(|btf, long| {
        let registers = btf.add("", 3, (0, 0), &[long, INT, 32]);
        btf.structure("pt_regs", 336, &[("regs", registers, 0)]);
    });
    assert_eq!(Convention::of(&other), None);
}
