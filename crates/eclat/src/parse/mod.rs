//! Words become a tree. The reference prints C, so that operators bind as they do there.

mod expression;
mod statement;

use crate::ast::{Attachment, Chain, Constant, Contents, Expression, Import, Script, Source, Type};
use crate::error::{SyntaxError, SyntaxErrorKind};
use crate::token::{At, Keyword, Token, tokens};

/// Parameters that a chain can have: as many as a program of HIKe.
const MOST_PARAMETERS: usize = 4;

/// The tree of a script.
///
/// # Errors
/// What is no eCLAT.
pub fn parse(source: &str) -> Result<Script> {
    let mut parser = Parser { tokens: tokens(source)?, next: 0, depth: 0, height: 0 };
    let mut script = Script::default();
    while *parser.peek() != Token::End {
        parser.top(&mut script)?;
    }
    Ok(script)
}

struct Parser {
    tokens: Vec<(Token, At)>,
    next: usize,
    /// Expressions and blocks around the place.
    depth: u32,
    /// Levels of the expression that was parsed last: of `a + b + c`, two.
    height: u32,
}

/// Levels of a chain, from its lines to the innermost operand: whoever goes through the tree calls itself for each.
const MOST_DEPTH: u32 = 200;

type Result<T> = std::result::Result<T, SyntaxError>;

impl Parser {
    fn peek(&self) -> &Token {
        self.ahead(0)
    }

    /// The word so many behind the next one.
    fn ahead(&self, count: usize) -> &Token {
        let last = self.tokens.len() - 1;
        &self.tokens[(self.next + count).min(last)].0
    }

    fn at(&self) -> At {
        self.tokens[self.next.min(self.tokens.len() - 1)].1
    }

    fn advance(&mut self) -> Token {
        let token = self.peek().clone();
        self.next += 1;
        token
    }

    /// Takes the next word if it is that one.
    fn take(&mut self, token: &Token) -> bool {
        let is_it = self.peek() == token;
        self.next += usize::from(is_it);
        is_it
    }

    fn take_symbol(&mut self, symbol: &'static str) -> bool {
        self.take(&Token::Symbol(symbol))
    }

    fn take_keyword(&mut self, keyword: Keyword) -> bool {
        self.take(&Token::Keyword(keyword))
    }

    fn want(&mut self, token: &Token, expected: &'static str) -> Result<()> {
        if self.take(token) { Ok(()) } else { Err(self.unexpected(expected)) }
    }

    fn want_symbol(&mut self, symbol: &'static str) -> Result<()> {
        self.want(&Token::Symbol(symbol), symbol)
    }

    fn want_name(&mut self, expected: &'static str) -> Result<String> {
        match self.peek().clone() {
            Token::Name(name) => {
                self.next += 1;
                Ok(name)
            }
            _ => Err(self.unexpected(expected)),
        }
    }

    fn unexpected(&self, expected: &'static str) -> SyntaxError {
        let found = match self.peek() {
            Token::Name(name) => format!("'{name}'"),
            Token::Number { value, .. } => format!("the number {value}"),
            Token::Text(text) => format!("the text '{text}'"),
            Token::Keyword(keyword) => format!("'{}'", format!("{keyword:?}").to_lowercase()),
            Token::Symbol(symbol) => format!("'{symbol}'"),
            Token::NewLine => "the end of the line".to_string(),
            Token::Indent => "a deeper line".to_string(),
            Token::Dedent => "the end of the block".to_string(),
            Token::End => "the end of the script".to_string(),
        };
        SyntaxErrorKind::Unexpected { found, expected }.at(self.at())
    }

    fn end_of_line(&mut self) -> Result<()> {
        self.want(&Token::NewLine, "the end of the line")
    }

    /// What `parse` gives, one level deeper.
    fn deeper<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.depth += 1;
        self.check_depth(0, self.at())?;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    /// Refuses an expression at that place that has too many levels.
    fn check_depth(&self, height: u32, at: At) -> Result<()> {
        if self.depth + height > MOST_DEPTH { Err(SyntaxErrorKind::TooDeep.at(at)) } else { Ok(()) }
    }

    /// What is separated by commas up to `end`, which is taken; there may be a comma before it.
    fn list<T>(&mut self, end: &'static str, item: impl Fn(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut items = Vec::new();
        while !self.take_symbol(end) {
            items.push(item(self)?);
            if !self.take_symbol(",") {
                self.want_symbol(end)?;
                break;
            }
        }
        Ok(items)
    }

    /// A line outside of chains, or a chain.
    fn top(&mut self, script: &mut Script) -> Result<()> {
        let at = self.at();
        match (self.peek().clone(), self.ahead(1).clone()) {
            (Token::Keyword(Keyword::From), _) => script.imports.push(self.import()?),
            (Token::Keyword(Keyword::Def), _) => {
                script.chains.push(self.chain()?);
                return Ok(());
            }
            (Token::Name(owner), Token::Symbol("[")) => {
                self.next += 2;
                script.contents.push(self.contents(owner, at)?);
            }
            (Token::Name(loader), Token::Symbol(".")) => {
                self.next += 2;
                script.attachments.push(self.attachment(loader, at)?);
            }
            (Token::Name(name), Token::Symbol("=")) => {
                self.next += 2;
                script.constants.push(Constant { name, value: self.expression()?, at });
            }
            (Token::Keyword(Keyword::Pass), _) => self.next += 1,
            (Token::Keyword(Keyword::If), _) => return Err(SyntaxErrorKind::Outside { text: "if" }.at(at)),
            (Token::Keyword(Keyword::While), _) => {
                return Err(SyntaxErrorKind::Outside { text: "while" }.at(at));
            }
            (Token::Keyword(Keyword::For), _) => return Err(SyntaxErrorKind::Outside { text: "for" }.at(at)),
            (Token::Keyword(Keyword::Return), _) => {
                return Err(SyntaxErrorKind::Outside { text: "return" }.at(at));
            }
            _ => return Err(self.unexpected("an import, a chain, a constant, or contents of a map")),
        }
        self.end_of_line()
    }

    /// `from SOURCE.PACKAGE import NAME, …`; the paper has `prog` for `programs`.
    fn import(&mut self) -> Result<Import> {
        let at = self.at();
        self.next += 1;
        let source = match self.want_name("`programs`, `loaders` or `lua`")?.as_str() {
            "programs" | "prog" => Source::Programs,
            "loaders" => Source::Loaders,
            "lua" => Source::Lua,
            _ => {
                self.next -= 1;
                return Err(self.unexpected("`programs`, `loaders` or `lua`"));
            }
        };
        self.want_symbol(".")?;
        let mut package = self.want_name("the name of a package")?;
        while self.take_symbol(".") {
            package = format!("{package}.{}", self.want_name("the name of a package")?);
        }
        self.want(&Token::Keyword(Keyword::Import), "`import`")?;
        let is_in_brackets = self.take_symbol("(");
        let mut names = Vec::new();
        loop {
            let at = self.at();
            names.push((self.want_name("the name of a program")?, at));
            if !self.take_symbol(",") {
                break;
            }
        }
        if is_in_brackets {
            self.want_symbol(")")?;
        }
        Ok(Import { source, package, names, at })
    }

    /// `MAP] = { (KEY): (VALUE), … }`, behind `OWNER[`.
    fn contents(&mut self, owner: String, at: At) -> Result<Contents> {
        let map = self.want_name("the name of a map")?;
        self.want_symbol("]")?;
        self.want_symbol("=")?;
        self.want_symbol("{")?;
        let entries = self.list("}", |parser| {
            let key = parser.words()?;
            parser.want_symbol(":")?;
            Ok([key, parser.words()?])
        })?;
        Ok(Contents { owner, map, entries, at })
    }

    /// `(A, B, …)`, or one without brackets.
    fn words(&mut self) -> Result<Vec<Expression>> {
        match self.take_symbol("(") {
            true => self.list(")", Self::expression),
            false => Ok(vec![self.expression()?]),
        }
    }

    /// `attach(DEVICE, MODE)`, behind `LOADER.`.
    fn attachment(&mut self, loader: String, at: At) -> Result<Attachment> {
        self.want(&Token::Name("attach".into()), "`attach`")?;
        self.want_symbol("(")?;
        let device = match self.peek().clone() {
            // The reference takes devices without quotation marks, too: `-D` puts them there.
            Token::Text(text) | Token::Name(text) => text,
            _ => return Err(self.unexpected("the name of an interface")),
        };
        self.next += 1;
        self.want_symbol(",")?;
        let Token::Text(mode) = self.peek().clone() else {
            return Err(self.unexpected("a mode: 'xdp', 'xdpgeneric', 'xdpdrv' or 'xdpoffload'"));
        };
        self.next += 1;
        self.take_symbol(",");
        self.want_symbol(")")?;
        Ok(Attachment { loader, device, mode, at })
    }

    fn chain(&mut self) -> Result<Chain> {
        self.next += 1;
        let at = self.at();
        let name = self.want_name("the name of a chain")?;
        self.want_symbol("(")?;
        let parameters = self.list(")", Self::parameter)?;
        if parameters.len() > MOST_PARAMETERS {
            return Err(SyntaxErrorKind::Parameters { most: MOST_PARAMETERS }.at(at));
        }
        let body = self.block()?;
        Ok(Chain { name, parameters, body, at })
    }

    /// `TYPE: NAME`, and `NAME: TYPE` as Python has it.
    fn parameter(&mut self) -> Result<(Type, String)> {
        let first = self.want_name("a parameter: `u64: name`")?;
        self.want_symbol(":")?;
        let second = self.want_name("a parameter: `u64: name`")?;
        match (Type::named(&first), Type::named(&second)) {
            (Some(ty), _) => Ok((ty, second)),
            (None, Some(ty)) => Ok((ty, first)),
            (None, None) => {
                self.next -= 1;
                Err(self.unexpected("a type: u8, u16, u32, u64, s8, s16, s32 or s64"))
            }
        }
    }
}

#[cfg(test)]
mod tests;
