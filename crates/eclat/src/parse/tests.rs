use super::*;
use crate::ast::{Binary, ExpressionKind, Statement, StatementKind, Unary};

/// An expression with brackets around all of its parts.
fn shown(expression: &Expression) -> String {
    let all = |items: &[Expression]| items.iter().map(shown).collect::<Vec<_>>().join(", ");
    match &expression.kind {
        ExpressionKind::Number { value, .. } => value.to_string(),
        ExpressionKind::Text(text) => format!("'{text}'"),
        ExpressionKind::Boolean(value) => value.to_string(),
        ExpressionKind::Name(name) => name.clone(),
        ExpressionKind::Call { owner, name, arguments } => {
            let owner = owner.as_ref().map_or(String::new(), |owner| format!("{owner}."));
            format!("{owner}{name}({})", all(arguments))
        }
        ExpressionKind::Entry { owner, map, key } => format!("{owner}[{map}][{}]", all(key)),
        ExpressionKind::Unary { operator, operand } => {
            let sign = match operator {
                Unary::Not => "!",
                Unary::Negate => "-",
                Unary::Complement => "~",
            };
            format!("{sign}{}", shown(operand))
        }
        ExpressionKind::Binary { operator, operands } => {
            format!("({} {operator:?} {})", shown(&operands[0]), shown(&operands[1]))
        }
    }
}

fn body(lines: &str) -> Vec<Statement> {
    let lines: String = lines.lines().map(|line| format!("    {line}\n")).collect();
    let script = parse(&format!("def f():\n{lines}")).unwrap_or_else(|error| panic!("{lines}{error}"));
    script.chains.into_iter().next().expect("there is a chain").body
}

fn value(text: &str) -> String {
    match &body(&format!("return {text}"))[0].kind {
        StatementKind::Return(Some(value)) => shown(value),
        other => panic!("{other:?}"),
    }
}

#[test]
fn operators_bind_as_in_c() {
    for (text, expected) in [
        ("not a == 2", "(!a Equal 2)"),
        ("a & 4 == 4", "(a BitAnd (4 Equal 4))"),
        ("1 + 2 << 3", "((1 Add 2) ShiftLeft 3)"),
        ("0 < a < 3", "((0 Less a) Less 3)"),
        ("a or b and c | d ^ e & f", "(a Or (b And (c BitOr (d BitXor (e BitAnd f)))))"),
        ("a - b - c * d % e", "((a Subtract b) Subtract ((c Multiply d) Remainder e))"),
        ("-~not(a + 1)", "-~!(a Add 1)"),
        ("a || !b && c", "(a Or (!b And c))"),
        ("f(1, g(), ) + Packet.readU16(12)", "(f(1, g()) Add Packet.readU16(12))"),
        ("seen[seen_map][1, a] >= 0x10", "(seen[seen_map][1, a] GreaterOrEqual 16)"),
        ("a ==\\\n  true", "(a Equal true)"),
    ] {
        assert_eq!(value(text), expected, "{text}");
    }
}

#[test]
fn scripts_of_all_parts() {
    let script = parse(
        "from prog.net import drop, pass_, \\\n  ip6_set\nfrom loaders.basic import ip6_sc\nfrom lua.limits import (bucket)\n\
         LIMIT = 0x10;\nip6_sc[ip6_sc_map] = {\n  (0, 0x1): (main),\n  2: (other, 3),\n}\n\
         ip6_sc.attach('eth0', 'xdp')\nip6_sc.attach(DEVNAME, 'xdpdrv')\n\
         def main(u8: a, b: s64):\n  X=0; Y=1;\n  u64 : res = drop(X)\n  n: u32 = 5\n  n += res\n  if n: return 1\n  \
         elif a == 2:\n    pass\n  else:\n    while n < 3:\n      n <<= 1\n  for i in range(1, n): drop()\n  return\n\
         def other(): pass\n",
    )
    .unwrap_or_else(|error| panic!("{error}"));
    let packages: Vec<_> =
        script.imports.iter().map(|import| (import.source, import.package.as_str())).collect();
    assert_eq!(packages, [(Source::Programs, "net"), (Source::Loaders, "basic"), (Source::Lua, "limits")]);
    assert_eq!(script.imports[0].names.len(), 3);
    assert_eq!((script.constants.len(), script.contents[0].entries.len()), (1, 2));
    assert_eq!(
        (script.attachments[1].device.as_str(), script.attachments[1].mode.as_str()),
        ("DEVNAME", "xdpdrv")
    );
    let main = &script.chains[0];
    let parameters: Vec<_> = main.parameters.iter().map(|(ty, name)| format!("{ty} {name}")).collect();
    assert_eq!((main.name.as_str(), parameters), ("main", vec!["u8 a".to_string(), "s64 b".to_string()]));
    let kinds: Vec<String> = main.body.iter().map(|line| format!("{:?}", line.kind)).collect();
    let kinds: Vec<&str> =
        kinds.iter().map(|kind| kind.split([' ', '(']).next().unwrap_or_default()).collect();
    assert_eq!(kinds, ["Assign", "Assign", "Assign", "Assign", "Change", "If", "For", "Return"]);
    let StatementKind::If { arms, otherwise } = &main.body[5].kind else { panic!("{:?}", main.body[5]) };
    assert_eq!((arms.len(), otherwise.len()), (2, 1));
    let StatementKind::Change { operator, .. } = &main.body[4].kind else { panic!("{:?}", main.body[4]) };
    assert_eq!((*operator, script.chains[1].body.len()), (Binary::Add, 1));
}

#[test]
fn what_is_no_eclat_is_said_with_its_line() {
    for (source, line, message) in [
        ("def f()\n  pass\n", 1, "the end of the line where : is expected"),
        ("def f():\npass\n", 2, "'pass' where a deeper line is expected"),
        ("def f():\n  x ? 1\n", 2, "'?' is no word of the language"),
        ("def f():\n  return 1 +\n", 2, "the end of the line where a value is expected"),
        (
            "def f():\n  u65: x = 1\n",
            2,
            "'x' where a type: u8, u16, u32, u64, s8, s16, s32 or s64 is expected",
        ),
        ("def f(u8: a, u8: b, u8: c, u8: d, u8: e):\n  pass\n", 1, "a chain takes no more than 4 parameters"),
        ("if a:\n  pass\n", 1, "'if' stands outside of chains"),
        ("from kernel.net import a\n", 1, "'kernel' where `programs`, `loaders` or `lua` is expected"),
        ("a.attach('eth0')\n", 1, "')' where , is expected"),
        ("a[b] = { (1) (2) }\n", 1, "'(' where : is expected"),
        ("def f():\n  for i in range(): pass\n", 2, "':' where one to three numbers for `range` is expected"),
    ] {
        let error = parse(source).expect_err(source);
        assert_eq!((error.at.line, error.kind.to_string().as_str()), (line, message), "{source}");
    }
    let deep = format!("def f():\n  return {}1{}\n", "(".repeat(1000), ")".repeat(1000));
    assert_eq!(parse(&deep).expect_err("deep").kind, SyntaxErrorKind::TooDeep);
    let deep = format!("def f():\n  return 1{}\n", "+ 1".repeat(100_000));
    assert_eq!(parse(&deep).expect_err("deep").kind, SyntaxErrorKind::TooDeep);
    let deep = format!("def f():\n  return {}1\n", "-".repeat(100_000));
    assert_eq!(parse(&deep).expect_err("deep").kind, SyntaxErrorKind::TooDeep);
}

#[test]
fn diagnostics_have_the_line_and_the_word() {
    let source = "def f():\n  return 010\n";
    let diagnostic = parse(source).expect_err(source).diagnostic("a.eclat", source);
    let place = diagnostic.place.expect("a place");
    assert_eq!((diagnostic.code, place.line, place.name.as_deref()), ("MH0303", 2, Some("010")));
}

#[test]
fn no_script_is_deeper_than_the_stack() {
    let chain = |line: String| format!("def f():\n  {line}\n");
    let sum = |inner: &str| format!("({inner}{})", "+ 1".repeat(150));
    let sums = (0..150).fold("1".to_string(), |inner, _| sum(&inner));
    for source in [
        chain(format!("return {}", sum(&sum("1")))),
        chain(format!("return {sums}")),
        chain(format!("return {}1{}", "f(1, ".repeat(100_000), ")".repeat(100_000))),
        chain(format!("return {}1{}", "p[m][1, ".repeat(100_000), "]".repeat(100_000))),
        chain(format!("{}pass", "if 1:".repeat(1_000_000))),
        chain(format!("{}pass", "while 1: for i in range(1): if 1: ".repeat(100_000))),
        format!("N = {}1\n", "~".repeat(100_000)),
    ] {
        let error = parse(&source).expect_err(&source[..50]);
        assert_eq!(error.kind, SyntaxErrorKind::TooDeep, "{}", &source[..50]);
    }
    for accepted in [sum("1"), format!("{}1{}", "(".repeat(190), ")".repeat(190)), "f(1) + 1".repeat(90)] {
        let source = chain(format!("return {}", accepted.replace("1f", "1 + f")));
        assert!(parse(&source).is_ok(), "{}", parse(&source).unwrap_err());
    }
}
