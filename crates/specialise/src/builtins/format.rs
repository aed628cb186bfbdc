//! `string.format` (Lua manual § 6.5; `str_format` in lstrlib.c).
//!
//! A call becomes a list of parts: known text, and values with their conversions, checked from left to right as Lua checks
//! them. Where the text only goes to `print` or `error`, the parts go into the event as they are and whoever receives it
//! puts the text together; otherwise it is made in the scratch region.

use super::base::text_of;
use super::call::{Call, Row};
use super::output::Line;
use crate::context::{Context, Result};
use crate::events::Message;
use crate::formatting;
use crate::paths::Arm;
use crate::value::{Abs, Str, Word, float_of};
use moonhook_ir::words::{PathState, Words};
use moonhook_library::conversion::{Conversion, FLAGS};
use moonhook_library::float_text;

pub const ROWS: &[Row] = &[Row { name: "string.format", any_type: true, emit: format }];

/// The longest conversion specification that `getformat` takes: `MAX_FORMAT - 10`, with the `%` not counted.
const MAX_SPECIFICATION: usize = 22;

/// A part of the text.
#[derive(Clone)]
enum Part {
    Text(Vec<u8>),
    /// An integer with a numeric conversion and its specification.
    Number(Conversion, String, Word),
    /// A float with its specification.
    Float(String, Word),
    /// Whatever `tostring` makes of a value.
    Value(Abs),
}

fn format(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    let mut arms = Vec::new();
    for (state, format) in context.alternatives(&call.arg(1))? {
        context.state = state;
        let Some(parts) = parts(context, call, &format)? else { continue };
        let mut texts = Vec::new();
        for part in parts {
            texts.push(match part {
                Part::Text(text) => Abs::text(text),
                Part::Number(conversion, _, word) if conversion.is_plain() => Abs::Int(word),
                Part::Value(Abs::Int(word)) => Abs::Int(word),
                Part::Float(specification, _) => return context.refuse_float_text(&specification),
                Part::Number(conversion, _, word) => {
                    Abs::Str(formatting::integer(context, word, &conversion)?)
                }
                Part::Value(value) => Abs::Str(single_text(context, &value)?),
            });
        }
        let text = context.concatenate(&texts)?;
        arms.extend(context.only(text)?);
    }
    Ok(arms)
}

/// Appends the call's text to a line, without making it. False, with the state dead, after an error.
pub fn append(context: &mut Context<'_>, call: &Call, line: &mut Line) -> Result<bool> {
    let Some(parts) = parts(context, call, &call.arg(1))? else { return Ok(false) };
    for part in parts {
        match part {
            Part::Text(text) => line.text(&text),
            Part::Number(_, specification, word) => line.argument(&specification, Abs::Int(word)),
            Part::Float(specification, word) => line.argument(&specification, Abs::Float(word)),
            Part::Value(value) => line.value(context, &value)?,
        }
    }
    Ok(true)
}

/// The text of a value in one place, whatever its type turns out to be.
fn single_text(context: &mut Context<'_>, value: &Abs) -> Result<Str> {
    if !matches!(value, Abs::Union(_)) {
        return text_of(context, value);
    }
    let text = context.dispatch_one(value, &mut |context, value| {
        let text = text_of(context, &value)?;
        Ok(Abs::Str(context.copied(text)?))
    })?;
    Ok(match text {
        Abs::Str(text) => text,
        _ => formatting::constant(""),
    })
}

/// Takes the format apart and checks the arguments. `None`, with the state dead, after an error.
fn parts(context: &mut Context<'_>, call: &Call, format: &Abs) -> Result<Option<Vec<Part>>> {
    let format = match format {
        Abs::Str(Str::Const(format)) => format.clone(),
        Abs::Int(Word::Imm(value)) => value.to_string().into_bytes().into(),
        Abs::Float(Word::Imm(bits)) => float_text(float_of(*bits)).into_bytes().into(),
        Abs::Float(_) => return context.refuse_float_text("format"),
        Abs::Str(_) | Abs::Int(_) => {
            let help = "use a string literal, or choose among several with `if`";
            return context.unsupported("a format that is made of packet bytes", help, Some("format"));
        }
        other => {
            let mut call = call.clone();
            call.narrowed |= call.arg(1) != *other;
            call.args.resize(call.args.len().max(1), Abs::Nil);
            call.args[0] = other.clone();
            if call.args == [Abs::Nil] {
                call.args.clear();
            }
            call.wrong_type(context, 1, "string");
            return Ok(None);
        }
    };
    let mut parts = Parts { context, call, number: 1, parts: Vec::new() };
    let mut rest = &format[..];
    while let Some(position) = rest.iter().position(|byte| *byte == b'%') {
        parts.text(&rest[..position]);
        rest = &rest[position + 1..];
        if let Some(after) = rest.strip_prefix(b"%") {
            parts.text(b"%");
            rest = after;
        } else {
            rest = parts.item(rest)?;
            if !parts.context.state.alive() {
                return Ok(None);
            }
        }
    }
    parts.text(rest);
    Ok(Some(parts.parts))
}

struct Parts<'a, 'b> {
    context: &'a mut Context<'b>,
    call: &'a Call,
    /// Of the argument last taken.
    number: usize,
    parts: Vec<Part>,
}

impl Parts<'_, '_> {
    fn text(&mut self, text: &[u8]) {
        match self.parts.last_mut() {
            Some(Part::Text(last)) => last.extend_from_slice(text),
            _ => self.parts.push(Part::Text(text.to_vec())),
        }
    }

    fn string(&mut self, text: Str) {
        match text {
            Str::Const(text) => self.text(&text),
            text => self.parts.push(Part::Value(Abs::Str(text))),
        }
    }

    /// An error that does not depend on values.
    fn wrong(&mut self, message: impl AsRef<[u8]>) {
        self.context.certain_error(message, Some("format"), "see `string.format` in the Lua manual, § 6.5");
    }

    /// One specification, whose `%` has been taken; gives what follows it.
    fn item<'f>(&mut self, format: &'f [u8]) -> Result<&'f [u8]> {
        self.number += 1;
        if self.number > self.call.args.len() {
            self.wrong(self.call.bad_argument(self.number, "no value"));
            return Ok(b"");
        }
        let length = format.iter().take_while(|byte| b"-+#0 123456789.".contains(byte)).count() + 1;
        if length >= MAX_SPECIFICATION {
            self.wrong("invalid format (too long)");
            return Ok(b"");
        }
        let written = &format[..length.min(format.len())];
        let letter = written.get(length - 1).copied().unwrap_or(0);
        let shown = format!("%{}", String::from_utf8_lossy(written));
        match letter {
            b'd' | b'i' | b'u' | b'o' | b'x' | b'X' | b'c' => self.integer(written, &shown)?,
            b's' => self.value(written, &shown)?,
            b'q' if length > 1 => self.wrong("specifier '%q' cannot have modifiers"),
            b'q' => {
                let value = self.call.arg(self.number);
                if let Some(text) = super::quote::quoted(self.context, self.call, self.number, &value)? {
                    self.string(text);
                }
            }
            b'a' | b'A' | b'e' | b'E' | b'f' | b'g' | b'G' => self.float(written, &shown)?,
            b'p' => {
                let help = "nothing has an address in the kernel that could be compared";
                return self.context.unsupported("the conversion '%p'", help, Some(&shown));
            }
            _ => self.wrong(format!("invalid conversion '{shown}' to 'format'")),
        }
        Ok(&format[length.min(format.len())..])
    }

    /// `checkformat`: `None`, with the state dead, if it is not well-formed.
    fn conversion(&mut self, written: &[u8], shown: &str, flags: &[u8], precise: bool) -> Option<Conversion> {
        let conversion = Conversion::parse(written, flags, precise);
        if conversion.is_none() {
            self.wrong(format!("invalid conversion specification: '{shown}'"));
        }
        conversion
    }

    fn integer(&mut self, written: &[u8], shown: &str) -> Result<()> {
        let (call, number) = (self.call, self.number);
        let value = self.context.dispatch_one(&call.arg(number), &mut |context, value| {
            let mut call = call.clone();
            call.narrowed |= value != call.args[number - 1];
            call.args[number - 1] = value;
            Ok(Abs::Int(call.integer(context, number)?))
        })?;
        let (flags, precise): (&[u8], bool) = match written.last() {
            Some(b'd' | b'i') => (b"-+0 ", true),
            Some(b'u') => (b"-0", true),
            Some(b'c') => (b"-", false),
            _ => (b"-#0", true),
        };
        let Abs::Int(word) = value else { return Ok(()) };
        if !self.context.state.alive() {
            return Ok(());
        }
        let Some(conversion) = self.conversion(written, shown, flags, precise) else { return Ok(()) };
        if conversion.letter == b'c' {
            let text = formatting::character(self.context, word)?;
            let text = formatting::padded(self.context, &text, &conversion)?;
            self.string(text);
        } else if let Word::Imm(value) = word {
            self.text(&conversion.integer(value));
        } else {
            self.parts.push(Part::Number(conversion, shown.to_string(), word));
        }
        Ok(())
    }

    /// A text is made of what is known now.
    fn float(&mut self, written: &[u8], shown: &str) -> Result<()> {
        let (call, number) = (self.call, self.number);
        let value = self.context.dispatch_one(&call.arg(number), &mut |context, value| {
            let mut call = call.clone();
            call.narrowed |= value != call.args[number - 1];
            call.args[number - 1] = value;
            Ok(call.float(context, number)?.map_or(Abs::Nil, Abs::Float))
        })?;
        let (Abs::Float(word), true) = (value, self.context.state.alive()) else { return Ok(()) };
        let Some(conversion) = self.conversion(written, shown, FLAGS, true) else { return Ok(()) };
        match word {
            Word::Imm(bits) => self.text(&conversion.float(float_of(bits))),
            word => self.parts.push(Part::Float(shown.to_string(), word)),
        }
        Ok(())
    }

    fn value(&mut self, written: &[u8], shown: &str) -> Result<()> {
        let value = self.call.arg(self.number);
        if written.len() == 1 {
            match &value {
                Abs::Union(_) | Abs::Int(Word::Value(_)) | Abs::Float(Word::Value(_)) => {
                    self.parts.push(Part::Value(value))
                }
                value => {
                    let text = text_of(self.context, value)?;
                    self.string(text);
                }
            }
            return Ok(());
        }
        let text = single_text(self.context, &value)?;
        let problem = self.call.bad_argument(self.number, "string contains zeros");
        self.context.without_zeros(&text, &problem)?;
        if !self.context.state.alive() {
            return Ok(());
        }
        let Some(conversion) = self.conversion(written, shown, b"-", true) else { return Ok(()) };
        let text = formatting::padded(self.context, &text, &conversion)?;
        self.string(text);
        Ok(())
    }
}

impl Context<'_> {
    /// Raises `problem` where the text holds a NUL.
    fn without_zeros(&mut self, text: &Str, problem: &[u8]) -> Result<()> {
        if let Str::Const(bytes) = text {
            if bytes.contains(&0) {
                self.fail(Message::new(problem));
            }
            return Ok(());
        }
        let slice = self.slice_of(text)?;
        let arms = self.first_byte_where(slice, &mut |context, byte| {
            Ok(context.compare(moonhook_ir::CompareOp::Eq, byte, 0))
        })?;
        let found = self.join(arms)?;
        if let Some([Abs::Int(position)]) = found.as_deref() {
            let inside = self.compare(moonhook_ir::CompareOp::SLt, *position, slice.length);
            self.check(inside, || Message::new(problem));
        }
        Ok(())
    }
}
