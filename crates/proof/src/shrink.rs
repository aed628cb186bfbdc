//! Making a failing program small: statements, arguments and optional parts are left out, blocks and expressions replaced by
//! what is in them or by constants, frames shortened and zeroed, as long as it still fails.
//!
//! A program that cannot be loaded does not fail as the first one did, so an attempt may leave out what something else needs.

use crate::generator::tree::{Expression, ExpressionKind, Part, Program, Statement};

/// A place of a program that can be made smaller.
enum Spot<'a> {
    Body(&'a mut Vec<Statement>),
    Expression(&'a mut Expression),
    List(&'a mut Vec<Expression>, usize),
    Optional(&'a mut Vec<Part>),
}

/// One way to make a place smaller.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Edit {
    /// Leaves out so many statements or items from there on.
    Cut { from: usize, count: usize },
    /// Puts the statements that a statement contains in its place.
    Unwrap { at: usize },
    /// Puts something simpler in an expression's place.
    Replace(Expression),
    /// Leaves out an optional part.
    Drop,
}

/// The smallest program found for which `fails` holds, as it does for `program`.
pub fn shrink(program: Program, mut fails: impl FnMut(&Program) -> bool) -> Program {
    let mut best = program;
    loop {
        let before = best.clone();
        // Whole statements first: what is left is much faster to try.
        pass(&mut best, &mut fails, |spot| {
            if let Spot::Body(body) = spot { cuts(body.len(), 0) } else { Vec::new() }
        });
        pass(&mut best, &mut fails, edits);
        if best == before {
            return best;
        }
    }
}

/// Tries the edits of every place once; a place that got smaller is tried again.
fn pass(best: &mut Program, fails: &mut impl FnMut(&Program) -> bool, edits: impl Fn(&Spot) -> Vec<Edit>) {
    let mut index = 0;
    while let Some(all) = at(best, index, |spot| edits(&spot)) {
        let smaller = all.into_iter().find_map(|edit| {
            let mut candidate = best.clone();
            at(&mut candidate, index, |spot| apply(spot, &edit));
            (candidate != *best && fails(&candidate)).then_some(candidate)
        });
        match smaller {
            Some(candidate) => *best = candidate,
            None => index += 1,
        }
    }
}

/// What `visit` says of the place of that number; places are counted from the outside in.
fn at<T>(program: &mut Program, index: usize, mut visit: impl FnMut(Spot) -> T) -> Option<T> {
    let mut left = index;
    in_body(&mut program.statements, &mut left, &mut visit)
}

/// Whether this is the place that is looked for.
fn here(left: &mut usize) -> bool {
    let found = *left == 0;
    *left = left.wrapping_sub(1);
    found
}

fn in_body<T>(body: &mut Vec<Statement>, left: &mut usize, visit: &mut impl FnMut(Spot) -> T) -> Option<T> {
    if here(left) {
        return Some(visit(Spot::Body(body)));
    }
    // What comes late needs what comes early, so it goes first.
    body.iter_mut().rev().find_map(|statement| in_parts(&mut statement.parts, left, visit))
}

fn in_expression<T>(it: &mut Expression, left: &mut usize, visit: &mut impl FnMut(Spot) -> T) -> Option<T> {
    if here(left) {
        return Some(visit(Spot::Expression(it)));
    }
    in_parts(&mut it.parts, left, visit)
}

fn in_parts<T>(parts: &mut [Part], left: &mut usize, visit: &mut impl FnMut(Spot) -> T) -> Option<T> {
    parts.iter_mut().find_map(|part| match part {
        Part::Word(_) => None,
        Part::Expression(expression) => in_expression(expression, left, visit),
        Part::Body(body) => in_body(body, left, visit),
        Part::List { items, least } => {
            if here(left) {
                return Some(visit(Spot::List(items, *least)));
            }
            items.iter_mut().find_map(|item| in_expression(item, left, visit))
        }
        Part::Optional(parts) => {
            if here(left) {
                return Some(visit(Spot::Optional(parts)));
            }
            in_parts(parts, left, visit)
        }
    })
}

/// All edits of a place, those that take away most first.
fn edits(spot: &Spot) -> Vec<Edit> {
    match spot {
        Spot::Body(body) => {
            let mut all = cuts(body.len(), 0);
            all.extend((0..body.len()).map(|at| Edit::Unwrap { at }));
            all
        }
        Spot::List(items, least) => cuts(items.len(), *least),
        Spot::Optional(parts) if parts.is_empty() => Vec::new(),
        Spot::Optional(_) => vec![Edit::Drop],
        Spot::Expression(expression) => simpler(expression).into_iter().map(Edit::Replace).collect(),
    }
}

/// Pieces that can be cut out of a row: halves, quarters, … single ones, the last first. The first `least` stay.
fn cuts(length: usize, least: usize) -> Vec<Edit> {
    let mut all = Vec::new();
    let mut count = length.saturating_sub(least);
    while count > 0 {
        let pieces = (least..length).step_by(count).filter(|from| from + count <= length);
        let mut cuts: Vec<Edit> = pieces.map(|from| Edit::Cut { from, count }).collect();
        cuts.reverse();
        all.extend(cuts);
        count /= 2;
    }
    all
}

/// What can take an expression's place: the simplest of its kind, then those of its kind that are in it.
fn simpler(expression: &Expression) -> Vec<Expression> {
    if let [Part::Word(text)] = &expression.parts[..]
        && expression.kind.simplest().contains(&text.as_str())
    {
        return Vec::new();
    }
    let kind = expression.kind;
    let mut all: Vec<Expression> = kind.simplest().iter().map(|text| Expression::leaf(kind, *text)).collect();
    inner(&expression.parts, kind, &mut all);
    if let [Part::Word(text)] = &expression.parts[..] {
        all.extend(shorter(text).into_iter().map(|text| Expression::leaf(kind, text)));
    }
    all
}

/// The outermost expressions of that kind.
fn inner(parts: &[Part], kind: ExpressionKind, all: &mut Vec<Expression>) {
    for part in parts {
        match part {
            Part::Expression(expression) if expression.kind == kind => all.push(expression.clone()),
            Part::Expression(expression) => inner(&expression.parts, kind, all),
            Part::List { items, .. } => {
                for item in items {
                    inner(&[Part::Expression(item.clone())], kind, all);
                }
            }
            Part::Optional(parts) => inner(parts, kind, all),
            Part::Word(_) | Part::Body(_) => {}
        }
    }
}

/// Shorter literals: numbers halved, strings with a piece cut out.
fn shorter(text: &str) -> Vec<String> {
    let bare = text.trim_matches(|c| c == '(' || c == ')');
    if let Ok(number) = bare.parse::<i64>() {
        let halves = [number / 2, number - number.signum()];
        return halves.iter().filter(|half| **half != number).map(|half| format!("({half})")).collect();
    }
    let Some(content) = bare.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else {
        return Vec::new();
    };
    let letters: Vec<char> = content.chars().collect();
    cuts(letters.len(), 0)
        .into_iter()
        .filter_map(|cut| {
            let Edit::Cut { from, count } = cut else { return None };
            let rest: String = letters[..from].iter().chain(&letters[from + count..]).collect();
            Some(format!("(\"{rest}\")"))
        })
        .collect()
}

fn apply(spot: Spot, edit: &Edit) {
    match (spot, edit) {
        (Spot::Body(body), Edit::Cut { from, count }) => drop(body.drain(*from..from + count)),
        (Spot::List(items, _), Edit::Cut { from, count }) => drop(items.drain(*from..from + count)),
        (Spot::Body(body), Edit::Unwrap { at }) => {
            let mut content = Vec::new();
            bodies(&body[*at].parts, &mut content);
            if !content.is_empty() {
                body.splice(*at..=*at, content);
            }
        }
        (Spot::Expression(expression), Edit::Replace(new)) => *expression = new.clone(),
        (Spot::Optional(parts), Edit::Drop) => parts.clear(),
        _ => {}
    }
}

/// The statements in the outermost bodies, also those of functions.
fn bodies(parts: &[Part], all: &mut Vec<Statement>) {
    for part in parts {
        match part {
            Part::Body(body) => all.extend(body.iter().cloned()),
            Part::Expression(expression) => bodies(&expression.parts, all),
            Part::List { items, .. } => items.iter().for_each(|item| bodies(&item.parts, all)),
            Part::Optional(parts) => bodies(parts, all),
            Part::Word(_) => {}
        }
    }
}

/// Smaller frames: fewer, shorter (but `least` bytes), with zeros for bytes.
pub fn shrink_frames(
    frames: Vec<Vec<u8>>,
    least: usize,
    mut fails: impl FnMut(&[Vec<u8>]) -> bool,
) -> Vec<Vec<u8>> {
    let mut best = frames;
    let mut smaller = |best: &mut Vec<Vec<u8>>, candidate: Vec<Vec<u8>>| {
        let found = !candidate.is_empty() && candidate != *best && fails(&candidate);
        if found {
            *best = candidate;
        }
        found
    };
    while cuts(best.len(), 0).into_iter().any(|cut| {
        let Edit::Cut { from, count } = cut else { return false };
        let candidate = [&best[..from], &best[from + count..]].concat();
        smaller(&mut best, candidate)
    }) {}
    for index in 0..best.len() {
        for length in [least, best[index].len() / 2, best[index].len().saturating_sub(1)] {
            let mut candidate = best.clone();
            candidate[index].truncate(length.max(least));
            smaller(&mut best, candidate);
        }
        for cut in cuts(best[index].len(), 0) {
            let Edit::Cut { from, count } = cut else { continue };
            let mut candidate = best.clone();
            if let Some(bytes) = candidate[index].get_mut(from..from + count) {
                bytes.fill(0);
                smaller(&mut best, candidate);
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generator::{self, Features, tree::line};
    use crate::random::Random;

    #[test]
    fn only_what_fails_is_left() {
        let sum = Expression::new(
            ExpressionKind::Integer,
            vec!["(".into(), Expression::leaf(ExpressionKind::Integer, "bad").into(), " + 17)".into()],
        );
        let inner = vec![
            line!("a"),
            line!("print($)", vec![Expression::leaf(ExpressionKind::Integer, "12"), sum]),
            line!("b"),
        ];
        let program = Program {
            statements: vec![line!("c"), line!("if x then$else$end", vec![line!("d")], inner), line!("e")],
        };
        let small = shrink(program, |program| program.text().contains("bad"));
        assert_eq!(small.text(), "print(bad)\n");
    }

    /// Programs with an artificial fault get down to the line that has it.
    #[test]
    fn random_programs_become_small() {
        let mut tried = 0;
        for seed in 0..60 {
            let program = generator::program(&mut Random::new(seed), Features::ALL);
            let fails =
                |program: &Program| program.text().contains(":rep(") && program.text().contains("xdp.attach");
            if !fails(&program) {
                continue;
            }
            tried += 1;
            let small = shrink(program, fails).text();
            assert!(small.lines().count() <= 6, "seed {seed}:\n{small}");
        }
        assert!(tried >= 5, "{tried} programs only have the fault");
    }

    #[test]
    fn frames_become_small() {
        let frames = vec![vec![1; 60], vec![7; 60], vec![2; 60]];
        let small = shrink_frames(frames, 14, |frames| frames.iter().any(|frame| frame.get(20) == Some(&7)));
        let [frame] = &small[..] else { panic!("{small:?}") };
        assert!(frame.len() < 60, "{frame:?}");
        assert_eq!((frame[20], frame.iter().map(|byte| usize::from(*byte)).sum()), (7, 7), "{frame:?}");
    }

    #[test]
    fn equal_seeds_give_equal_programs() {
        let text = |seed| generator::program(&mut Random::new(seed), Features::ALL).text();
        assert_eq!(text(7), text(7));
        assert_ne!(text(7), text(8));
    }
}
