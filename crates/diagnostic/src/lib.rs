//! Diagnostics: how every stage tells a person what is wrong with a script, a flag, a file or the host.
//!
//! Reads nothing, knows no stage. Each stage has its own error enum and turns it into a [`Diagnostic`]; the command
//! line renders it for a terminal or as JSON. A diagnostic has a stable code, at most one place in the script and at
//! most one `help:` line that says what to write instead.

mod exit;

pub use exit::Exit;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use serde::{Deserialize, Serialize};

/// A place in a script: one line, and the name in it that the message is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The file as the person named it.
    pub file: String,
    /// Line number, from 1.
    pub line: u32,
    /// The text of that line, without its line end.
    pub text: String,
    /// The name to underline. Where it is absent, or not in `text`, the whole line is underlined.
    pub name: Option<String>,
}

/// One message to a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// The stable code, `MH` and four digits; `moonhook explain CODE` has a page about it.
    pub code: &'static str,
    /// What is wrong, in one line, without a full stop.
    pub message: String,
    pub place: Option<Place>,
    /// Why, in a few words; stands under the underlined name.
    pub reason: Option<String>,
    /// What to write or do instead.
    pub help: Option<String>,
}

impl Diagnostic {
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Diagnostic { code, message: message.into(), place: None, reason: None, help: None }
    }

    /// In one line, as the message of an error in Lua has it.
    pub fn line(&self) -> String {
        let place = self.place.as_ref().map(|place| format!("{}:{}: ", place.file, place.line));
        let help = self.help.as_ref().map(|help| format!("; {help}"));
        format!("{}{}{}", place.unwrap_or_default(), self.message, help.unwrap_or_default())
    }

    pub fn at(mut self, place: Place) -> Self {
        self.place = Some(place);
        self
    }

    pub fn reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }

    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The message as it is printed on a terminal (`colour`) or into a file. Ends without a line end.
    pub fn render(&self, colour: bool) -> String {
        self.render_as(&Level::ERROR, colour)
    }

    /// As [`Diagnostic::render`], of what does not keep the script from running.
    pub fn render_warning(&self, colour: bool) -> String {
        self.render_as(&Level::WARNING, colour)
    }

    fn render_as(&self, level: &Level<'_>, colour: bool) -> String {
        let texts = [Some(&self.message), self.reason.as_ref(), self.help.as_ref()];
        let of_place = self.place.iter().flat_map(|place| [&place.file, &place.text]);
        if texts.into_iter().flatten().chain(of_place).any(|text| text.contains(is_command)) {
            return self.spelled_out().render_as(level, colour);
        }
        let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
        let title = level.clone().primary_title(&self.message).id(self.code);
        let mut group = match &self.place {
            None => Group::with_title(title),
            Some(place) => {
                let mark = AnnotationKind::Primary.span(place.underlined());
                let mark = match &self.reason {
                    Some(reason) => mark.label(reason),
                    None => mark,
                };
                let snippet = Snippet::source(&place.text).line_start(place.line as usize).path(&place.file);
                title.element(snippet.annotation(mark))
            }
        };
        if let (None, Some(reason)) = (&self.place, &self.reason) {
            group = group.element(Level::NOTE.message(reason));
        }
        if let Some(help) = &self.help {
            group = group.element(Level::HELP.message(help));
        }
        renderer.render(&[group]).to_string()
    }
}

impl Diagnostic {
    /// The same where commands to a terminal are spelled out: texts and names of files may come from anywhere.
    fn spelled_out(&self) -> Diagnostic {
        let shown = |text: &String| -> String {
            let shown = |c: char| if is_command(c) { c.escape_unicode().to_string() } else { c.to_string() };
            text.chars().map(shown).collect()
        };
        let place = |place: &Place| Place {
            file: shown(&place.file),
            line: place.line,
            text: shown(&place.text),
            name: place.name.as_ref().map(shown),
        };
        Diagnostic {
            code: self.code,
            message: shown(&self.message),
            place: self.place.as_ref().map(place),
            reason: self.reason.as_ref().map(shown),
            help: self.help.as_ref().map(shown),
        }
    }
}

/// Whether a terminal may take a character for a command, or for an order to write from right to left, so that a text is not what it looks like.
pub fn is_command(c: char) -> bool {
    c.is_control() && !matches!(c, '\t' | '\n')
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

impl Place {
    /// The bytes of `text` to underline: the first whole-word occurrence of `name`, else the line without its indent.
    pub fn underlined(&self) -> std::ops::Range<usize> {
        if let Some(name) = self.name.as_deref().filter(|name| !name.is_empty()) {
            let word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
            for (start, _) in self.text.match_indices(name) {
                let end = start + name.len();
                let before = self.text[..start].chars().next_back();
                let after = self.text[end..].chars().next();
                let starts_word = word(name.chars().next());
                let ends_word = word(name.chars().next_back());
                if !(word(before) && starts_word || word(after) && ends_word) {
                    return start..end;
                }
            }
        }
        let trimmed = self.text.trim_start();
        let start = self.text.len() - trimmed.len();
        start..start + trimmed.trim_end().len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(text: &str, name: &str) -> Place {
        Place { file: "x.lua".into(), line: 3, text: text.into(), name: Some(name.into()) }
    }

    #[test]
    fn underlines_whole_words_only() {
        assert_eq!(place("  lap = ap + 1", "ap").underlined(), 8..10);
        assert_eq!(place("  return x / 2", "/").underlined(), 11..12);
        assert_eq!(place("  return x", "y").underlined(), 2..10);
        assert_eq!(place("", "y").underlined(), 0..0);
    }

    #[test]
    fn renders_code_line_reason_and_help() {
        let shown = Diagnostic::new("MH0201", "division gives a float")
            .at(place("  return x / 2", "/"))
            .reason("floats do not exist at packet time")
            .help("write `//`")
            .render(false);
        for part in ["MH0201", "x.lua:3", "return x / 2", "^ floats do not exist", "help: write `//`"] {
            assert!(shown.contains(part), "{part:?} is missing in:\n{shown}");
        }
        let shown = Diagnostic::new("MH0201", "no \u{202e}x")
            .at(Place { file: "a\x1b[2J".into(), ..place("x\u{9b}", "x") });
        let shown = shown.render(false);
        assert!(!shown.contains(is_command), "{shown:?}");
        assert!(shown.contains("a\\u{1b}[2J:3") && shown.contains("no \\u{202e}x"), "{shown}");
        let shown = Diagnostic::new("MH0205", "attempt to call a nil value").render_warning(false);
        assert_eq!(shown, "warning[MH0205]: attempt to call a nil value");
    }
}
