//! `string.gsub` with a pattern and a replacement text that are known before packets arrive (Lua manual § 6.5). What is
//! replaced by a table or a function's results is left to general code.

use super::call::{Call, Row, returns, row};
use super::pattern::compiled;
use crate::concatenation::Piece;
use crate::context::{Context, Result};
use crate::events::Message;
use crate::loops::Iteration;
use crate::paths::Arm;
use crate::patterns::matcher::{self, Match};
use crate::patterns::parse::{self, Pattern};
use crate::region::STRINGS_END;
use crate::strings::Slice;
use crate::value::{Abs, Str, Word};
use moonhook_ir::CompareOp;
use moonhook_ir::words::{Branches, PathState, Words};
use moonhook_packet::MAX_FRAME;

pub const ROWS: &[Row] = &[row("string.gsub", gsub)];

/// A part of the replacement.
enum Part {
    Text(Vec<u8>),
    Whole,
    /// A capture, from 0.
    Capture(usize),
}

/// What a loop over the matches has: where it goes on, where the last match ended (-1 if there was none), where the output
/// ends, and how many matches there were.
#[derive(Clone, Copy)]
struct Progress {
    at: Word,
    last: Word,
    to: Word,
    count: Word,
}

impl Progress {
    fn words(self) -> Vec<Word> {
        vec![self.at, self.last, self.to, self.count]
    }

    /// Out of the loop.
    fn leave(self, context: &mut Context<'_>, iteration: &mut Iteration) {
        iteration.leave(context, [self.at, self.to, self.count].map(Abs::Int).to_vec());
    }
}

struct Replacement<'p> {
    pattern: &'p Pattern,
    parts: &'p [Part],
    subject: Slice,
    end: Word,
    most: Option<Word>,
}

fn gsub(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    let Some(text) = call.string(context, 1)? else { return Ok(vec![]) };
    let Some(pattern) = call.string(context, 2)? else { return Ok(vec![]) };
    let most = if call.is_none_or_nil(4) { None } else { Some(call.integer(context, 4)?) };
    if !context.state.alive() {
        return Ok(vec![]);
    }
    let replacement = match call.arg(3) {
        Abs::Str(Str::Const(text)) => text.to_vec(),
        Abs::Int(Word::Imm(value)) => value.to_string().into_bytes(),
        Abs::Nil | Abs::Bool(_) => {
            call.wrong_type(context, 3, "string/function/table");
            return Ok(vec![]);
        }
        _ => {
            let help = "replace by a string literal";
            return context.unsupported("`gsub` with a replacement that is not known", help, Some("gsub"));
        }
    };
    let pattern = compiled(context, call, pattern, parse::parse)?;
    let Some(parts) = parts(&replacement, pattern.captures.len()) else {
        let help = "write `%%` for a percent sign, and `%1` for the first capture";
        return context.unsupported("`gsub` with a malformed replacement", help, Some("gsub"));
    };
    let subject = context.slice_of(&text)?;
    let end = context.add(subject.start, subject.length);
    let replacement = Replacement { pattern: &pattern, parts: &parts, subject, end, most };
    let values = replacement.all(context)?;
    returns(context, values)
}

/// The replacement's parts (`add_s`, lstrlib.c); `None` where Lua would complain.
fn parts(replacement: &[u8], captures: usize) -> Option<Vec<Part>> {
    let mut parts = Vec::new();
    let mut text = Vec::new();
    let mut bytes = replacement.iter();
    while let Some(byte) = bytes.next() {
        let part = match byte {
            b'%' => match bytes.next()? {
                b'%' => None,
                b'0' => Some(Part::Whole),
                b'1' if captures == 0 => Some(Part::Whole),
                digit if digit.is_ascii_digit() && usize::from(digit - b'0') <= captures => {
                    Some(Part::Capture(usize::from(digit - b'1')))
                }
                _ => return None,
            },
            _ => None,
        };
        match part {
            None => text.push(*byte),
            Some(part) => {
                parts.push(Part::Text(std::mem::take(&mut text)));
                parts.push(part);
            }
        }
    }
    parts.push(Part::Text(text));
    parts.retain(|part| !matches!(part, Part::Text(text) if text.is_empty()));
    Some(parts)
}

impl Replacement<'_> {
    /// The new text and the number of matches.
    fn all(&self, context: &mut Context<'_>) -> Result<Vec<Abs>> {
        let start = context.allocate(Word::Imm(0))?;
        let begin = Progress { at: self.subject.start, last: Word::Imm(-1), to: start, count: Word::Imm(0) };
        let arms = context.repeat(&begin.words(), &mut |context, variables| {
            let [at, last, to, count] = variables[..] else { return Ok(Iteration::default()) };
            self.next(context, Progress { at, last, to, count })
        })?;
        let values = context.join(arms)?;
        let Some([Abs::Int(at), Abs::Int(to), Abs::Int(count)]) = values.as_deref() else {
            return Ok(vec![]);
        };
        let (at, to, count) = (*at, *to, *count);
        let to = self.copy(context, at, self.end, to)?;
        context.state.scratch = to;
        let length = context.sub(to, start);
        Ok(vec![Abs::Str(crate::formatting::scratch(start, length)), Abs::Int(count)])
    }

    /// The next match and what comes before it.
    fn next(&self, context: &mut Context<'_>, progress: Progress) -> Result<Iteration> {
        let mut iteration = Iteration::default();
        if let Some(most) = self.most {
            let enough = context.compare_apart(CompareOp::SGe, progress.count, most);
            let (enough, more) = context.split(enough);
            context.state = enough;
            progress.leave(context, &mut iteration);
            context.state = more;
        }
        let (found, failed) = matcher::run(context, self.pattern, self.subject, progress.at)?;
        context.enter(failed)?;
        progress.leave(context, &mut iteration);
        let Some(found) = found else { return Ok(iteration) };
        context.state = found.state.clone();
        // An empty match right behind the last one does not count.
        let again = context.compare_apart(CompareOp::Eq, found.end, progress.last);
        let (again, new) = context.split(again);
        context.state = again;
        self.pass(context, progress, &mut iteration)?;
        context.state = new;
        let mut to = self.copy(context, progress.at, found.start, progress.to)?;
        for part in self.parts {
            to = self.put(context, part, &found, to)?;
        }
        let count = context.add(progress.count, 1);
        let next = Progress { at: found.end, last: found.end, to, count };
        match self.pattern.anchored {
            true => next.leave(context, &mut iteration),
            false => iteration.again(context, next.words()),
        }
        Ok(iteration)
    }

    /// Copies one character, if there is one.
    fn pass(&self, context: &mut Context<'_>, progress: Progress, iteration: &mut Iteration) -> Result<()> {
        let over = context.compare_apart(CompareOp::SGe, progress.at, self.end);
        let (over, within) = context.split(over);
        context.state = over;
        progress.leave(context, iteration);
        context.state = within;
        if context.state.alive() {
            let next = context.add(progress.at, 1);
            let to = self.copy(context, progress.at, next, progress.to)?;
            iteration.again(context, Progress { at: next, to, ..progress }.words());
        }
        Ok(())
    }

    /// Copies the subject's bytes from `from` up to `until` to the output; gives its end.
    fn copy(&self, context: &mut Context<'_>, from: Word, until: Word, to: Word) -> Result<Word> {
        let length = context.sub(until, from);
        self.write(context, &Piece::Slice(Slice { start: from, length, ..self.subject }), to)
    }

    fn put(&self, context: &mut Context<'_>, part: &Part, found: &Match, to: Word) -> Result<Word> {
        match part {
            Part::Text(text) => self.write(context, &Piece::Known(text.clone()), to),
            Part::Whole => self.copy(context, found.start, found.end, to),
            Part::Capture(number) => {
                let (start, length) = found.captures[*number];
                if self.pattern.captures[*number] {
                    let offset = context.sub(start, self.subject.start);
                    let position = context.add(offset, 1);
                    let position = context.and(position, 2 * MAX_FRAME + 1);
                    return self.write(context, &Piece::Integer(position), to);
                }
                self.write(context, &Piece::Slice(Slice { start, length, ..self.subject }), to)
            }
        }
    }

    /// Writes a piece where there is room for it.
    fn write(&self, context: &mut Context<'_>, piece: &Piece, to: Word) -> Result<Word> {
        let end = context.add(to, piece.room());
        let full = context.compare_apart(CompareOp::UGt, end, STRINGS_END - 8);
        context.check(full, || Message::bare("not enough memory"));
        context.write_piece(piece, to)
    }
}
