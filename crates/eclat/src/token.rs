//! Words of a script.
//!
//! A line ends at its end or at `;`, not within brackets and not behind a backslash. A tab is four spaces. Deeper lines are a block.

use crate::error::{SyntaxError, SyntaxErrorKind};

/// What a word is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    Name(String),
    /// With whether it was written in hexadecimal: C gives these other types.
    Number {
        value: u64,
        is_hexadecimal: bool,
    },
    Text(String),
    Keyword(Keyword),
    /// An operator or a bracket, as it is written.
    Symbol(&'static str),
    /// The end of a line with something in it.
    NewLine,
    Indent,
    Dedent,
    End,
}

/// A word with a meaning of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keyword {
    From,
    Import,
    Def,
    Return,
    Pass,
    If,
    Elif,
    Else,
    While,
    For,
    In,
    And,
    Or,
    Not,
    True,
    False,
}

const KEYWORDS: [(&str, Keyword); 16] = [
    ("from", Keyword::From),
    ("import", Keyword::Import),
    ("def", Keyword::Def),
    ("return", Keyword::Return),
    ("pass", Keyword::Pass),
    ("if", Keyword::If),
    ("elif", Keyword::Elif),
    ("else", Keyword::Else),
    ("while", Keyword::While),
    ("for", Keyword::For),
    ("in", Keyword::In),
    ("and", Keyword::And),
    ("or", Keyword::Or),
    ("not", Keyword::Not),
    ("true", Keyword::True),
    ("false", Keyword::False),
];

/// Longer ones first: the first that fits is meant.
const SYMBOLS: [&str; 38] = [
    "<<=", ">>=", "<<", ">>", "<=", ">=", "==", "!=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "&&",
    "||", "+", "-", "*", "/", "%", "<", ">", "&", "|", "^", "~", "!", "=", "(", ")", "[", "]", "{", "}", ",",
];
const MORE_SYMBOLS: [&str; 2] = [":", "."];

/// Columns that a tab stands for.
const TAB: usize = 4;

/// Where a word is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At {
    /// From 1.
    pub line: u32,
    /// Bytes before it in the line.
    pub column: usize,
}

/// The words of a script.
///
/// # Errors
/// What is no word, and lines that are neither in the block before them nor in one around it.
pub fn tokens(source: &str) -> Result<Vec<(Token, At)>, SyntaxError> {
    let mut scanner = Scanner { tokens: Vec::new(), indents: vec![0], depth: 0, continues: false };
    let mut line = 0;
    for text in source.lines() {
        line += 1;
        scanner.line(text, line)?;
    }
    let end = At { line: line.max(1), column: 0 };
    scanner.end_of_line(end);
    if scanner.depth > 0 {
        return Err(SyntaxErrorKind::Unclosed.at(end));
    }
    scanner.dedent_to(0, end)?;
    scanner.push(Token::End, end);
    Ok(scanner.tokens)
}

struct Scanner {
    tokens: Vec<(Token, At)>,
    indents: Vec<usize>,
    /// Brackets that are open.
    depth: usize,
    /// The line before ended with a backslash.
    continues: bool,
}

impl Scanner {
    fn push(&mut self, token: Token, at: At) {
        self.tokens.push((token, at));
    }

    fn end_of_line(&mut self, at: At) {
        let is_empty =
            matches!(self.tokens.last(), None | Some((Token::NewLine | Token::Indent | Token::Dedent, _)));
        if !is_empty {
            self.push(Token::NewLine, at);
        }
    }

    fn line(&mut self, text: &str, line: u32) -> Result<(), SyntaxError> {
        let code = text.trim_start();
        let begins = self.depth == 0 && !std::mem::take(&mut self.continues);
        if begins && (code.is_empty() || code.starts_with('#')) {
            return Ok(());
        }
        let mut at = At { line, column: text.len() - code.len() };
        if begins {
            self.end_of_line(at);
            let width = text[..at.column].chars().map(|c| if c == '\t' { TAB } else { 1 }).sum();
            self.dedent_to(width, at)?;
        }
        let trimmed = text.trim_end();
        let continuation = trimmed.ends_with('\\').then(|| trimmed.len() - 1);
        while let Some(rest) = text.get(at.column..).filter(|rest| !rest.is_empty()) {
            if rest.starts_with('#') {
                break;
            }
            if continuation == Some(at.column) {
                self.continues = true;
                return Ok(());
            }
            at.column += self.word(rest, at)?;
        }
        if self.depth == 0 {
            self.end_of_line(At { line, column: text.len() });
        }
        Ok(())
    }

    /// The line at `at` is so many columns to the right.
    fn dedent_to(&mut self, width: usize, at: At) -> Result<(), SyntaxError> {
        let innermost = |scanner: &Scanner| scanner.indents.last().copied().unwrap_or_default();
        if width > innermost(self) {
            self.indents.push(width);
            self.push(Token::Indent, at);
        }
        while width < innermost(self) {
            self.indents.pop();
            self.push(Token::Dedent, at);
        }
        if width == innermost(self) { Ok(()) } else { Err(SyntaxErrorKind::Indentation.at(at)) }
    }

    /// Takes the word at the start of `rest`; gives its length.
    fn word(&mut self, rest: &str, at: At) -> Result<usize, SyntaxError> {
        let first = rest.chars().next().unwrap_or(' ');
        if first.is_whitespace() {
            return Ok(first.len_utf8());
        }
        if first == ';' {
            self.end_of_line(at);
            return Ok(1);
        }
        if first.is_ascii_digit() {
            return self.number(rest, at);
        }
        if first == '\'' || first == '"' {
            let text = rest[1..].split(first).next().unwrap_or_default();
            if text.len() + 1 == rest.len() {
                return Err(SyntaxErrorKind::UnclosedText.at(at));
            }
            self.push(Token::Text(text.to_string()), at);
            return Ok(text.len() + 2);
        }
        let name = name_at(rest);
        if !name.is_empty() {
            let keyword = KEYWORDS.iter().find(|(word, _)| *word == name);
            let token = keyword.map_or_else(|| Token::Name(name.into()), |(_, word)| Token::Keyword(*word));
            self.push(token, at);
            return Ok(name.len());
        }
        let symbol = SYMBOLS.iter().chain(&MORE_SYMBOLS).find(|symbol| rest.starts_with(**symbol));
        let symbol = *symbol.ok_or_else(|| SyntaxErrorKind::NoWord { text: first.to_string() }.at(at))?;
        match symbol {
            "(" | "[" | "{" => self.depth += 1,
            ")" | "]" | "}" => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        self.push(Token::Symbol(symbol), at);
        Ok(symbol.len())
    }

    fn number(&mut self, rest: &str, at: At) -> Result<usize, SyntaxError> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        let text = &rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())];
        let hexadecimal = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
        let is_decimal = text.bytes().all(|byte| byte.is_ascii_digit());
        let value = match hexadecimal {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None if text.len() > 1 && text.starts_with('0') && is_decimal => {
                return Err(SyntaxErrorKind::Octal { text: text.into() }.at(at));
            }
            None if text.contains('.') => return Err(SyntaxErrorKind::Fraction { text: text.into() }.at(at)),
            None => text.parse().ok(),
        };
        let value = value.ok_or_else(|| SyntaxErrorKind::NoNumber { text: text.into() }.at(at))?;
        self.push(Token::Number { value, is_hexadecimal: hexadecimal.is_some() }, at);
        Ok(text.len())
    }
}

/// The name at the start of a text; nothing if there is none.
fn name_at(text: &str) -> &str {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    &text[..text.find(|c| !is_part(c)).unwrap_or(text.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words without their places.
    fn words(source: &str) -> Vec<Token> {
        tokens(source)
            .unwrap_or_else(|error| panic!("{source}: {error}"))
            .into_iter()
            .map(|(token, _)| token)
            .collect()
    }

    fn name(name: &str) -> Token {
        Token::Name(name.into())
    }

    #[test]
    fn lines_are_blocks() {
        use Token::{Dedent, End, Indent, NewLine, Symbol};
        let source = "a\n\n  # not a line\n\tb; c ;\n\n    d(\n e)\nf \\\n  g\n";
        assert_eq!(
            words(source),
            [
                name("a"),
                NewLine,
                Indent,
                name("b"),
                NewLine,
                name("c"),
                NewLine,
                name("d"),
                Symbol("("),
                name("e"),
                Symbol(")"),
                NewLine,
                Dedent,
                name("f"),
                name("g"),
                NewLine,
                End
            ]
        );
        let problem = tokens("a\n    b\n  c").unwrap_err();
        assert_eq!((problem.kind, problem.at.line), (SyntaxErrorKind::Indentation, 3));
    }

    #[test]
    fn words_that_begin_like_keywords_are_names() {
        for word in ["ifindex", "order", "passed", "u8x", "define", "not_", "_in"] {
            assert_eq!(words(word)[0], name(word));
        }
        assert_eq!(words("not")[0], Token::Keyword(Keyword::Not));
    }

    #[test]
    fn numbers_and_texts() {
        let number = |value, is_hexadecimal| Token::Number { value, is_hexadecimal };
        assert_eq!(
            words("0x1F 18446744073709551615 0")[..3],
            [number(31, true), number(u64::MAX, false), number(0, false)]
        );
        assert_eq!(words("'eth0' \"a'b\"")[..2], [Token::Text("eth0".into()), Token::Text("a'b".into())]);
        for (source, kind) in [
            ("010", SyntaxErrorKind::Octal { text: "010".into() }),
            ("1.5", SyntaxErrorKind::Fraction { text: "1.5".into() }),
            ("18446744073709551616", SyntaxErrorKind::NoNumber { text: "18446744073709551616".into() }),
            ("12ab", SyntaxErrorKind::NoNumber { text: "12ab".into() }),
            ("'a", SyntaxErrorKind::UnclosedText),
            ("a $ b", SyntaxErrorKind::NoWord { text: "$".into() }),
            ("f(1,\n 2", SyntaxErrorKind::Unclosed),
        ] {
            assert_eq!(tokens(source).unwrap_err().kind, kind, "{source}");
        }
    }

    /// A longer text takes longer in proportion, whatever it is made of.
    #[test]
    fn all_words_are_read_once() {
        let time = |(first, line): (&str, &str), bytes: usize| {
            let source = first.to_string() + &line.repeat(bytes / line.len());
            let begun = std::time::Instant::now();
            let _ = tokens(&source);
            begun.elapsed().as_secs_f64()
        };
        for parts in [("a", " "), ("", "a "), ("", "a=1;"), ("", "    a\n"), ("f(", "\\ \n 1,"), ("a='", "b")]
        {
            // What disturbs makes it longer, never shorter.
            let least = |bytes| (0..3).map(|_| time(parts, bytes)).fold(f64::INFINITY, f64::min);
            let ratio = least(1 << 20) / least(1 << 16);
            assert!(ratio < 100.0, "{parts:?}: 16 times as much text takes {ratio} times as long");
        }
    }
}
