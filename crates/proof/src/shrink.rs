//! Making a failing program small: statements are left out, blocks replaced by what is in them, as long as it still fails.

use crate::generator::{Program, Statement};

/// The smallest program found for which `fails` holds, as it does for `program`.
pub fn shrink(program: Program, mut fails: impl FnMut(&Program) -> bool) -> Program {
    let mut best = program;
    loop {
        let smaller = candidates(&best.statements).into_iter().map(|statements| Program { statements });
        match smaller.into_iter().find(|candidate| fails(candidate)) {
            Some(candidate) => best = candidate,
            None => return best,
        }
    }
}

/// All lists that lack one statement, or have a block's content in the block's place. Large cuts come first.
fn candidates(statements: &[Statement]) -> Vec<Vec<Statement>> {
    let with =
        |index: usize, new: Vec<Statement>| [&statements[..index], &new, &statements[index + 1..]].concat();
    let mut all: Vec<_> = (0..statements.len()).rev().map(|index| with(index, Vec::new())).collect();
    for (index, statement) in statements.iter().enumerate() {
        let Statement::Block { parts, end } = statement else { continue };
        all.extend(parts.iter().map(|(_, body)| with(index, body.clone())));
        for part in 0..parts.len() {
            for body in candidates(&parts[part].1) {
                let mut parts = parts.clone();
                parts[part].1 = body;
                all.push(with(index, vec![Statement::Block { parts, end: end.clone() }]));
            }
            // `else` and `elseif` can go; the first part cannot.
            if part > 0 {
                let mut parts = parts.clone();
                parts.remove(part);
                all.push(with(index, vec![Statement::Block { parts, end: end.clone() }]));
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{generator, random::Random};

    #[test]
    fn only_what_fails_is_left() {
        let line = |text: &str| Statement::Line(text.to_string());
        let inner = vec![line("a"), line("bad"), line("b")];
        let parts = vec![("if x then".to_string(), vec![line("c")]), ("else".to_string(), inner)];
        let program = Program {
            statements: vec![line("d"), Statement::Block { parts, end: "end".to_string() }, line("e")],
        };
        let small = shrink(program, |program| program.text().contains("bad"));
        assert_eq!(small.text(), "bad\n");
    }

    #[test]
    fn equal_seeds_give_equal_programs() {
        let text = |seed| generator::program(&mut Random::new(seed)).text();
        assert_eq!(text(7), text(7));
        assert_ne!(text(7), text(8));
    }
}
