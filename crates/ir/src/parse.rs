//! Reads the text that `print` writes, for tests and for tools that take IR from a file.
//!
//! Guarantees that what it accepts prints again as the same text (data bytes beyond those a line shows excepted). Checks
//! syntax only: [`crate::verify::verify`] judges the rest. A `;` or `#` starts a comment that lasts to the end of the line,
//! except `; @source:line`.

mod instruction;
mod line;

use crate::*;
use line::Line;

/// What is wrong, with the line of the text, counted from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct ParseError {
    pub line: usize,
    pub message: String,
}

/// Reads a whole module. Sources have no text.
pub fn parse(text: &str) -> Result<Module, ParseError> {
    let mut module = Module::default();
    let mut function: Option<FunctionParser> = None;
    let mut number = 0;
    for raw in text.lines() {
        number += 1;
        let at = |message| ParseError { line: number, message };
        let mut line = Line::new(raw).map_err(at)?;
        if line.at_end() {
            continue;
        }
        let result = match &mut function {
            None => top_level(&mut module, &mut function, &mut line),
            Some(open) => match open.line(&mut line) {
                Ok(true) => {
                    module.functions.extend(function.take().map(|open| open.function));
                    Ok(())
                }
                Ok(false) => Ok(()),
                Err(message) => Err(message),
            },
        };
        result.and_then(|()| line.end()).map_err(at)?;
    }
    match function {
        None => Ok(module),
        Some(_) => Err(ParseError { line: number, message: "the function's `}` is missing".into() }),
    }
}

/// Reads a text with exactly one function and nothing else.
pub fn parse_function(text: &str) -> Result<Function, ParseError> {
    let mut functions = parse(text)?.functions;
    match (functions.pop(), functions.len()) {
        (Some(function), 0) => Ok(function),
        _ => Err(ParseError { line: 1, message: "expected one function".into() }),
    }
}

fn top_level(
    module: &mut Module,
    function: &mut Option<FunctionParser>,
    line: &mut Line,
) -> Result<(), String> {
    match line.word()? {
        "source" => {
            line.punctuation('@')?;
            expect_index(line.number()?, module.sources.len())?;
            module.sources.push(SourceFile { name: line.string()?, text: String::new() });
        }
        "map" => {
            expect_index(line.index("m")?, module.maps.len())?;
            let name = line.word()?.to_string();
            module.maps.push(Map { name, kind: map_kind(line)? });
        }
        "event" => {
            expect_index(line.index("e")?, module.events.len())?;
            module.events.push(event(line)?);
        }
        "function" => *function = Some(FunctionParser::new(line)?),
        other => return Err(format!("`{other}`: expected source, map, event or function")),
    }
    Ok(())
}

fn expect_index(found: u32, expected: usize) -> Result<(), String> {
    if found as usize == expected { Ok(()) } else { Err(format!("number {found}, expected {expected}")) }
}

fn map_kind(line: &mut Line) -> Result<MapKind, String> {
    use MapType::*;
    let word = line.word()?;
    match word {
        "rodata" => return Ok(MapKind::ReadOnlyData(bytes(line)?)),
        "data" => return Ok(MapKind::Data(bytes(line)?)),
        "zeros" => return Ok(MapKind::Zeros(line.number()?)),
        "arena" => {
            line.keyword("pages")?;
            line.punctuation('=')?;
            return Ok(MapKind::Arena { pages: line.number()?, image: bytes(line)? });
        }
        _ => {}
    }
    let known = [
        Hash,
        Array,
        PerCpuHash,
        PerCpuArray,
        LruHash,
        LruPerCpuHash,
        LpmTrie,
        CpuMap,
        XskMap,
        ProgramArray,
        DevMapHash,
        RingBuf,
    ];
    let map_type = known.into_iter().find(|t| format!("{t:?}") == word);
    let map_type = map_type.ok_or_else(|| format!("unknown map type `{word}`"))?;
    let mut field = |name: &str| {
        line.keyword(name)?;
        line.punctuation('=')?;
        line.number()
    };
    Ok(MapKind::Map(MapDefinition {
        map_type,
        key_size: field("key")?,
        value_size: field("value")?,
        max_entries: field("entries")?,
        flags: field("flags")?,
    }))
}

fn bytes(line: &mut Line) -> Result<Vec<u8>, String> {
    let size: u32 = line.number()?;
    let mut bytes = if line.at_end() { Vec::new() } else { line.bytes()? };
    if bytes.len() > size as usize {
        return Err(format!("{} bytes in a section of {size}", bytes.len()));
    }
    line.skip('…');
    bytes.resize(size as usize, 0);
    Ok(bytes)
}

fn event(line: &mut Line) -> Result<Event, String> {
    let kind = match line.word()? {
        "Error" => EventKind::Error,
        "Print" => EventKind::Print,
        "Raised" => EventKind::Raised,
        "Event" => EventKind::Event,
        other => return Err(format!("unknown event kind `{other}`")),
    };
    let (source, at) = place(line)?;
    let format = pieces(line.raw_string()?)?;
    let mut traceback = Vec::new();
    while !line.at_end() {
        line.keyword("in")?;
        let (source, at) = place(line)?;
        traceback.push((source, at, line.string()?));
    }
    Ok(Event { kind, source, line: at, format, traceback })
}

/// `@source:line`.
fn place(line: &mut Line) -> Result<(u16, u32), String> {
    line.punctuation('@')?;
    let source = line.number()?;
    line.punctuation(':')?;
    Ok((source, line.number()?))
}

/// Splits a format at its conversions; `%%` is a percent sign of the text.
fn pieces(format: &str) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    let mut text = String::new();
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(after) = rest.strip_prefix("%%") {
            text.push('%');
            rest = after;
            continue;
        }
        let end =
            rest[1..].find(|c: char| c.is_ascii_alphabetic()).ok_or("a `%` without its conversion")? + 2;
        if !text.is_empty() {
            pieces.push(Piece::Text(line::unescape(&std::mem::take(&mut text))?));
        }
        pieces.push(Piece::Argument(rest[..end].to_string()));
        rest = &rest[end..];
    }
    text.push_str(rest);
    if !text.is_empty() {
        pieces.push(Piece::Text(line::unescape(&text)?));
    }
    Ok(pieces)
}

struct FunctionParser {
    function: Function,
    /// The place of the instruction before, which a line without one shares.
    loc: Loc,
}

impl FunctionParser {
    fn new(line: &mut Line) -> Result<Self, String> {
        let name = line.word()?.to_string();
        let params = line.values()?;
        let kind = match line.word()? {
            "program" => FunctionKind::Program { section: line.string()? },
            linkage @ ("global" | "static") => {
                let context = match line.peek_word() {
                    Some("context") => {
                        line.word()?;
                        Some(line.string()?)
                    }
                    _ => None,
                };
                FunctionKind::Subprogram { global: linkage == "global", context }
            }
            other => return Err(format!("unknown kind of function `{other}`")),
        };
        line.punctuation('{')?;
        let mut function = Function::new(name, kind, 0);
        function.blocks.clear();
        params.iter().for_each(|param| count(&mut function, *param));
        function.params = params;
        Ok(FunctionParser { function, loc: Loc::default() })
    }

    /// Reads a line of the body; true if it ends the function.
    fn line(&mut self, line: &mut Line) -> Result<bool, String> {
        if line.skip('}') {
            return match self.function.blocks.last() {
                Some(block) if block.terminator.is_some() => Ok(true),
                _ => Err("the last block has no terminator".into()),
            };
        }
        match line.peek_word() {
            Some("slot") => {
                line.word()?;
                expect_index(line.index("s")?, self.function.slots.len())?;
                self.function.slots.push(line.number()?);
            }
            Some(word) if line::is_indexed(word, "b") => self.block(line)?,
            _ => self.statement(line)?,
        }
        Ok(false)
    }

    fn block(&mut self, line: &mut Line) -> Result<(), String> {
        expect_index(line.index("b")?, self.function.blocks.len())?;
        if self.function.blocks.last().is_some_and(|block| block.terminator.is_none()) {
            return Err("the block before has no terminator".into());
        }
        let params = line.values()?;
        params.iter().for_each(|param| count(&mut self.function, *param));
        let cold = line.peek_word() == Some("cold");
        if cold {
            line.word()?;
        }
        line.punctuation(':')?;
        self.loc = Loc::default();
        self.function.blocks.push(BlockData { params, cold, ..BlockData::default() });
        Ok(())
    }

    fn statement(&mut self, line: &mut Line) -> Result<(), String> {
        let loc = line.loc().map_or(self.loc, |loc| loc);
        self.loc = loc;
        let statement = instruction::read(line)?;
        let Some(block) = self.function.blocks.last_mut().filter(|block| block.terminator.is_none()) else {
            return Err("an instruction outside a block".into());
        };
        match statement {
            instruction::Statement::Terminator(terminator) => block.terminator = Some((terminator, loc)),
            instruction::Statement::Inst(op, result) => {
                block.insts.push(Inst { op, result, loc });
                if let Some(result) = result {
                    count(&mut self.function, result);
                }
            }
        }
        Ok(())
    }
}

fn count(function: &mut Function, value: Value) {
    function.value_count = function.value_count.max(value.0.saturating_add(1));
}
