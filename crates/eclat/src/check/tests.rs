use super::*;
use crate::eval::{Machine, run};
use crate::tree::{Datum, Mode};

/// A packet, and what a chain may still do.
struct Packet {
    bytes: Vec<u8>,
    steps: u32,
    called: Vec<(usize, Vec<u64>)>,
}

impl Packet {
    fn place(&self, offset: u64, bits: u32) -> std::result::Result<std::ops::Range<usize>, &'static str> {
        let end = offset.checked_add(u64::from(bits) / 8).filter(|end| *end <= self.bytes.len() as u64);
        end.map(|end| offset as usize..end as usize).ok_or("beyond")
    }
}

impl Machine for Packet {
    type End = &'static str;

    fn step(&mut self, _: At) -> std::result::Result<(), &'static str> {
        self.steps = self.steps.checked_sub(1).ok_or("steps")?;
        Ok(())
    }

    fn read(&mut self, offset: u64, bits: u32) -> std::result::Result<u64, &'static str> {
        let place = self.place(offset, bits)?;
        Ok(self.bytes[place].iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn write(&mut self, offset: u64, bits: u32, number: u64) -> std::result::Result<(), &'static str> {
        let place = self.place(offset, bits)?;
        self.bytes[place].copy_from_slice(&number.to_be_bytes()[8 - bits as usize / 8..]);
        Ok(())
    }

    fn map(&mut self, _: usize, _: &[u64]) -> std::result::Result<u64, Self::End> {
        Ok(0)
    }

    fn call(&mut self, program: usize, arguments: &[u64]) -> std::result::Result<u64, &'static str> {
        self.called.push((program, arguments.to_vec()));
        Ok(arguments.iter().sum())
    }

    fn decide(&mut self, _: usize, _: u64) -> &'static str {
        "decided"
    }
}

fn checked(source: &str) -> Result<Chains> {
    check(&crate::parse(source).unwrap_or_else(|error| panic!("{source}\n{error}")), "test.eclat")
}

/// What the chain `main` gives for the packet with bytes 0, 1, 2 and so on up to 15.
fn runs(source: &str) -> (std::result::Result<u64, &'static str>, Packet) {
    let chains = checked(source).unwrap_or_else(|error| panic!("{source}\n{error}"));
    let main = chains.chains.iter().position(|chain| chain.name == "main").expect("a chain `main`");
    let mut packet = Packet { bytes: (0..16).collect(), steps: 1000, called: Vec::new() };
    (run(&chains, main, &[7, u64::MAX, 3, 4], &mut packet), packet)
}

/// The value of an expression, where `a` is 7 of type u8 and `b` is -1 of type s16.
fn value(expression: &str) -> i64 {
    runs(&format!("def main(u8: a, s16: b):\n  return {expression}\n")).0.expect(expression) as i64
}

#[test]
fn numbers_are_those_of_c() {
    for (expression, expected) in [
        ("a + b", 6),
        ("b", -1),
        ("b < a", 1),
        ("b < 0xffffffff", 0),
        ("b == 0xffffffff", 1),
        ("b < 4294967295", 1),
        ("-1 >> 1", -1),
        ("0xffffffff >> 1", 0x7fff_ffff),
        ("1 << 31", -0x8000_0000),
        ("1 << 33", 2),
        ("~0", -1),
        ("~a", -8),
        ("not a", 0),
        ("not not b", 1),
        ("-7 / 2", -3),
        ("-7 % 2", -1),
        ("a / (b + 1)", 0),
        ("a % (b + 1)", 7),
        ("0x7fffffff + 1", -0x8000_0000),
        ("2147483647 + a * 0", 2147483647),
        ("4294967296 * 4294967296", 0),
        ("a == 7 && b", 1),
        ("0 || a - 7", 0),
        ("1 + 2 << 3", 24),
        ("a & 4 == 4", 1),
        ("true + true", 2),
    ] {
        assert_eq!(value(expression), expected, "{expression}");
    }
}

#[test]
fn chains_run() {
    let (value, packet) = runs(
        "from programs.net import count, drop\nSTEP = 2\n\
         def sum(u8: from_, u16: to):\n  u32: s = 0\n  for i in range(from_, to, STEP):\n    s += i\n  return s\n\
         def main(u64: n):\n  X = 5; u8: small = 300\n  small += 250\n  count(X, small)\n  if Packet.readU8(1) != 1:\n    return 1\n  \
         elif n == 7:\n    u64: t = sum(0, 10)\n    Packet.writeU16(2, 0x12345)\n    \
         return t * 1000 + Packet.read_u32(2)\n  return 2\n",
    );
    assert_eq!(value, Ok(20 * 1000 + 0x2345_0405));
    assert_eq!((packet.called, packet.bytes[2..4].to_vec()), (vec![(0, vec![5, 38])], vec![0x23, 0x45]));
    assert_eq!(runs("def main():\n  return Packet.readU64(9)\n").0, Err("beyond"));
    assert_eq!(runs("def main():\n  return Packet.readU8(-1)\n").0, Err("beyond"));
    assert_eq!(runs("def main():\n  while true: pass\n").0, Err("steps"));
    let (value, packet) = runs(
        "from programs.p import f\ndef main(u64: n):\n  0 && f(1)\n  return n\n"
            .replace("0 && f(1)", "n = 0 && f(1) || f(2)")
            .as_str(),
    );
    assert_eq!((value, packet.called), (Ok(1), vec![(0, vec![2])]));
}

#[test]
fn ranges_are_those_of_python() {
    let turns = |range: &str, ty: &str| {
        let source = format!(
            "def main():\n  u64: n = 0\n  {ty}: i = 99\n  for i in range({range}):\n    n = n * 10 + 1\n  return n * 1000 + i\n"
        );
        runs(&source).0
    };
    assert_eq!(
        (turns("3", "u8"), turns("2, 4", "s32"), turns("5, 0, -2", "s8")),
        (Ok(111_002), Ok(11_003), Ok(111_001))
    );
    assert_eq!(
        (turns("0", "u8"), turns("250, 255, 10", "u8"), turns("0, 300, 100", "u8")),
        (Ok(99), Ok(1_250), Ok(111_200))
    );
}

#[test]
fn steps_of_ranges_have_the_types_of_c() {
    let turns = |range: &str| {
        let source = format!("def main():\n  u64: n = 0\n  for i in range({range}): n += 1\n  return n\n");
        runs(&source).0
    };
    for (range, expected) in [
        ("0, 5, -0xffffffff", 5),
        ("0, 5, -0xfffffffe", 3),
        ("0, 5, -4294967295", 0),
        ("5, 0, -4294967295", 1),
        ("5, 0, -0x2", 3),
        ("0, 5, -0x80000000", 1),
        ("0, 5, -0xffffffffffffffff", 5),
        ("0, 5, --2", 3),
    ] {
        assert_eq!(turns(range), Ok(expected), "{range}");
    }
}

#[test]
fn blocks_have_variables_of_their_own() {
    let source = "def main():\n  u8: x = 1\n  if x:\n    u16: x = 1000\n    x += 1\n  return x\n";
    assert_eq!(runs(source).0, Ok(1));
}

#[test]
fn what_cannot_be_meant_is_refused() {
    for (lines, line, message) in [
        ("return x", 2, "nothing is called 'x'"),
        ("x = 1", 2, "'x' is assigned before it has a type"),
        ("u8: x = 1\n  u8: x = 2", 3, "there is a 'x' already"),
        (
            "if 1:\n    u8: x = 1\n  return x",
            4,
            "'x' is a variable of the block that begins in line 2, which has ended",
        ),
        ("X = 1\n  X += 1", 3, "'X' is a constant"),
        ("X = f()", 2, "a constant is a number"),
        ("X = 1\n  Y = X", 3, "a constant is a number"),
        ("f(1)", 2, "'f' takes 0 arguments, not 1"),
        ("Packet.readU8()", 2, "'readU8' takes 1 arguments, not 0"),
        ("Packet.readU12(1)", 2, "there is no 'Packet.readU12'"),
        ("Socket.read(1)", 2, "there is no 'Socket.read'"),
        ("return 'a'", 2, "a text is no number"),
        ("1 + 2", 2, "the line does nothing"),
        ("for i in range(1, 2, 0): pass", 2, "the step of `range` is a number other than 0"),
        ("for i in range(1, 2, f()): pass", 2, "the step of `range` is a number other than 0"),
        ("program(1, 2, 3, 4)", 2, "'program' takes 3 arguments, not 4"),
        ("fun(1, 2, 3, 4, 5)", 2, "'fun' takes 4 arguments, not 5"),
        ("f()", 1, "the chain 'f' calls itself"),
        ("g()", 1, "the chain 'f' calls itself"),
        ("ip6_sc()", 2, "'ip6_sc' is a loader, which starts chains and is called by none"),
        ("return fun[map][1]", 2, "'fun' has no map 'map'"),
        ("return nowhere[map][1]", 2, "nothing is called 'nowhere'"),
    ] {
        let imports =
            "from loaders.basic import ip6_sc\nfrom lua.m import fun\nfrom programs.p import program\n";
        let source = format!("def f():\n  {lines}\ndef g():\n  f()\n{imports}");
        let error = checked(&source).expect_err(&source);
        assert_eq!((error.kind.to_string().as_str(), error.at.line), (message, line), "{source}");
    }
}

#[test]
fn a_name_is_imported_from_one_place() {
    let chain = "def main():\n  x()\n";
    for again in ["from programs.b import x", "from loaders.a import x", "from lua.a import y, x"] {
        let error = checked(&format!("from programs.a import x\n{again}\n{chain}")).expect_err(again);
        assert_eq!(
            (error.to_string().as_str(), error.kind.code()),
            ("line 2: another 'x' is imported in line 1", "MH0307")
        );
    }
    // The same is the same, by either word for programs.
    let same = "from programs.a import x, y\nfrom prog.a import x\nfrom programs.a import z, x\n";
    let chains = checked(&format!("{same}{chain}")).expect(same);
    assert_eq!(chains.programs.iter().map(|program| &*program.name).collect::<Vec<_>>(), ["x", "y", "z"]);
}

/// Words of Python that eCLAT has not are told with what to write instead.
#[test]
fn words_of_python_are_told_with_others() {
    for (source, help) in [
        ("def f():\n  return True\n", "`true`"),
        ("def f():\n  return False\n", "`false`"),
        ("def f():\n  return None\n", "write 0"),
        ("def f():\n  while 1:\n    break\n", "when the loop ends"),
        ("import basics\n", "`from programs.PACKAGE import NAME`"),
        ("from programs.basics import drop as d\n", "leave `as …` out"),
    ] {
        let diagnostic = crate::read(source, "a.eclat").expect_err(source);
        let own = diagnostic.help.as_deref().unwrap_or_default();
        assert!(own.contains(help), "{source}: {own}");
    }
}

#[test]
fn maps_are_filled_and_loaders_attached() {
    let source = "from loaders.basic import ip6_sc\nfrom programs.own import count\nN = 7\ndef f():\n  return count[hits][1, N]\n\
        ip6_sc[m] = { (0, -1): (f), 'fc00::1': N }\nip6_sc.attach('eth0', 'xdpdrv')\n";
    let chains = checked(source).expect(source);
    let expected = [
        [vec![Datum::Number(0), Datum::Number(u64::MAX)], vec![Datum::Chain(0)]],
        [vec![Datum::Text("fc00::1".into())], vec![Datum::Number(7)]],
    ];
    assert_eq!((chains.contents[0].program, &chains.contents[0].entries[..]), (0, &expected[..]));
    assert_eq!((chains.attachments[0].device.as_str(), chains.attachments[0].mode), ("eth0", Mode::Driver));
    assert_eq!((chains.reads[0].program, chains.reads[0].parts), (1, 2));
    for (line, message) in [
        ("count.attach('eth0', 'xdp')", "'count' is no loader, and cannot be attached"),
        ("ip6_sc.attach('eth0', 'tc')", "'tc' is no mode of attaching"),
        ("ip6_sc[m] = { 1: g }", "nothing is called 'g'"),
        ("ip6_sc[m] = { 1: 1 + 1 }", "a constant is a number"),
        ("other[m] = { 1: 1 }", "nothing is called 'other'"),
    ] {
        let error = checked(&format!("{source}{line}\n")).expect_err(line);
        assert_eq!(error.kind.to_string(), message);
    }
}

#[test]
fn long_scripts_are_no_deeper_than_the_stack() {
    let arms: String = (0..100_000).map(|number| format!("  elif n == {number}: n += 1\n")).collect();
    let source = format!("def main(u64: n):\n  if n == 1000000: pass\n{arms}  else: n = 1\n  return n\n");
    let chains = checked(&source).expect("many arms");
    let mut packet = Packet { bytes: Vec::new(), steps: 1_000_000, called: Vec::new() };
    assert_eq!(run(&chains, 0, &[77], &mut packet), Ok(78));
    assert_eq!(1_000_000 - packet.steps, 79 + 2, "an arm that is asked is a step");
    assert_eq!(run(&chains, 0, &[200_000], &mut packet), Ok(1));

    // Each chain calls the next one at the end of a sum within blocks.
    let chain = |number: usize, levels: usize| {
        let blocks = "if n: ".repeat(levels);
        format!(
            "def c{number}(u64: n):\n  {blocks}return c{}(n{})\n  return n\n",
            number + 1,
            "+ 1".repeat(levels)
        )
    };
    let calling = |chains: usize, levels: usize| {
        let all: String = (0..chains).map(|number| chain(number, levels)).collect();
        format!("{all}def c{chains}(u64: n):\n  return n\n")
    };
    for accepted in [calling(8, 25), calling(60, 2), calling(1, 90)] {
        let chains = checked(&accepted).expect("accepted");
        assert!(run(&chains, 0, &[1], &mut packet).is_ok());
    }
    for (source, chain) in [(calling(100_000, 1), "c99"), (calling(60, 10), "c")] {
        let error = checked(&source).expect_err("too deep");
        let CheckErrorKind::TooDeep { chain: deep } = &error.kind else { panic!("{error}") };
        assert!(deep.starts_with(chain), "{deep}");
    }
}

#[test]
fn what_chains_call_counts_as_steps() {
    let chain = |number: usize| format!("def c{number}():\n  return c{0}() + c{0}()\n", number + 1);
    let all: String = (0..40).map(chain).collect();
    let chains = checked(&format!("{all}def c40(): pass\n")).expect("a script");
    let mut packet = Packet { bytes: Vec::new(), steps: 100_000, called: Vec::new() };
    assert_eq!(run(&chains, 0, &[], &mut packet), Err("steps"));
    let calls = "f() + ".repeat(100);
    assert_eq!(runs(&format!("def f(): pass\ndef main():\n  while 1: u64: n = {calls}1\n")).0, Err("steps"));
}

/// Twice as long a script takes some twice as long, however many names it has.
#[test]
fn names_are_found_at_once() {
    let script = |count: usize| {
        let imports: String =
            (0..count).map(|number| format!("from programs.p import p{number}\n")).collect();
        let chains: String = (0..count)
            .map(|number| {
                format!("def c{number}(u64: n):\n  p{number}()\ndef d{number}():\n  c{number}(1)\n")
            })
            .collect();
        crate::parse(&(imports + &chains)).expect("a script")
    };
    let time = |count: usize| {
        let script = script(count);
        let begun = std::time::Instant::now();
        check(&script, "test.eclat").expect("a script");
        begun.elapsed().as_secs_f64()
    };
    // What disturbs makes it longer, never shorter.
    let least = |count| (0..3).map(|_| time(count)).fold(f64::INFINITY, f64::min);
    let ratio = least(32_000) / least(2_000);
    assert!(ratio < 100.0, "16 times as many names take {ratio} times as long");
}
