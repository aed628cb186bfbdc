//! Texts that functions of flows are made of.

use super::{FlowFunction, Flows};
use mlua::{Function, Lua, Table, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// A text that a function is made of, and what messages call it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FlowText {
    pub text: Arc<str>,
    pub name: Arc<str>,
}

/// Texts that are functions by now.
#[derive(Default)]
pub(super) struct Texts {
    /// The functions, by table and text.
    made: HashMap<(usize, FlowText), Function>,
    /// What was last called by a name, and what a text was last called.
    by_name: HashMap<Arc<str>, Arc<str>>,
    names: HashMap<Arc<str>, Arc<str>>,
    /// How many texts were given a name here.
    count: usize,
}

impl Texts {
    /// A text with its name: the one that is given, or the one that the same text has already, or else a new one.
    fn named(&mut self, text: &str, name: Option<&str>) -> FlowText {
        let name: Arc<str> = match (name, self.names.get(text)) {
            (Some(name), _) => name.into(),
            (None, Some(name)) => Arc::clone(name),
            (None, None) => {
                self.count += 1;
                format!("flow {}", self.count).into()
            }
        };
        let text: Arc<str> = text.into();
        self.by_name.insert(Arc::clone(&name), Arc::clone(&text));
        self.names.insert(Arc::clone(&text), Arc::clone(&name));
        FlowText { text, name }
    }

    fn forget(&mut self, table: usize, tables: usize, own: FlowText) {
        let mut key = (table, own);
        self.made.remove(&key);
        for other in 0..tables {
            key.0 = other;
            if self.made.contains_key(&key) {
                return;
            }
        }
        let FlowText { text, name } = key.1;
        if self.by_name.get(&name) == Some(&text) {
            self.by_name.remove(&name);
        }
        if self.names.get(&text) == Some(&name) {
            self.names.remove(&text);
        }
    }
}

impl Flows {
    /// The text that messages call `name`.
    pub fn text_of(&self, name: &str) -> Option<String> {
        self.0.borrow().texts.by_name.get(name).map(|text| text.to_string())
    }

    /// No flow of the table has the function that was made of a text.
    pub fn forget_text(&self, table: usize, own: &FlowText) {
        let mut inner = self.0.borrow_mut();
        let tables = inner.tables.len();
        inner.texts.forget(table, tables, own.clone());
    }

    /// Makes a function of a text, which is a function or a chunk that returns one; its global variables are those of the script that has
    /// made the table, its others such of the script's local variables as other functions have. `name` is what messages call the text.
    ///
    /// # Errors
    /// What Lua says of it, or that it gives no function.
    pub fn function_of(
        &self,
        lua: &Lua,
        table: usize,
        text: &str,
        name: Option<&str>,
    ) -> Result<FlowFunction, String> {
        let (own, known) = {
            let texts = &mut self.0.borrow_mut().texts;
            let key = (table, texts.named(text, name));
            let known = texts.made.get(&key).cloned();
            (key.1, known)
        };
        let function = match known {
            Some(function) => function,
            None => self.new_function(lua, table, &own).inspect_err(|_| self.forget_text(table, &own))?,
        };
        Ok(FlowFunction { function, source: Some(own) })
    }

    fn new_function(&self, lua: &Lua, table: usize, own: &FlowText) -> Result<Function, String> {
        if let Some(name) = name_of_function(&own.text) {
            return Err(format!(
                "{}: the function has a name, by which it would be a variable of the script: write `function(…)` in the place of `function {name}(…)`",
                own.name
            ));
        }
        let made = self.chunk_of(lua, table, own).and_then(|chunk| chunk.call::<Value>(()));
        let value = made.map_err(|error| match error {
            mlua::Error::SyntaxError { message, .. } => shortened(message),
            error => shortened(error.to_string()),
        })?;
        let of_library = value.as_function().is_some_and(|function| function.info().what == "C");
        let Value::Function(function) = value else {
            return Err(format!(
                "{}: a {} value, where a function is expected: `function(packet) … end`, or a chunk that returns one",
                own.name,
                value.type_name()
            ));
        };
        if of_library {
            return Err(format!("{}: a function of the library, where one in Lua is expected", own.name));
        }
        self.0.borrow_mut().texts.made.insert((table, own.clone()), function.clone());
        Ok(function)
    }

    /// A function that gives what the text says, with the script's variables.
    fn chunk_of(&self, lua: &Lua, table: usize, own: &FlowText) -> mlua::Result<Function> {
        let (globals, locals) = {
            let inner = self.0.borrow();
            (inner.tables[table].globals.clone(), inner.locals.clone())
        };
        let names = match &locals {
            Some(locals) => captured(&own.text, &globals, locals)?,
            None => Vec::new(),
        };
        let chunk = around(lua, (&own.text, &own.name), &names)?;
        let debug: Table = lua.globals().get("debug")?;
        let (get, join) = (debug.get::<Function>("getupvalue")?, debug.get::<Function>("upvaluejoin")?);
        let set: Function = debug.get("setupvalue")?;
        for number in 1..=255 {
            let own: Option<String> = get.call::<(Option<String>, Value)>((&chunk, number))?.0;
            match (own.as_deref(), &locals) {
                (None, _) => break,
                (Some("_ENV"), _) => set.call::<()>((&chunk, number, &globals))?,
                (Some(own), Some(locals)) => {
                    let place: Table = locals.raw_get(own)?;
                    let (holder, at): (Function, i64) = (place.raw_get(1)?, place.raw_get(2)?);
                    join.call::<()>((&chunk, number, holder, at))?;
                }
                (Some(_), None) => {}
            }
        }
        Ok(chunk)
    }
}

/// The names in a text that are local variables of the script and no global ones.
fn captured(text: &str, globals: &Table, locals: &Table) -> mlua::Result<Vec<String>> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words =
        text.split(|c: char| !is_part(c)).filter(|word| !word.starts_with(|c: char| c.is_ascii_digit()));
    let mut names: Vec<String> = Vec::new();
    for word in words.filter(|word| !word.is_empty()) {
        // A function can have 255 of them.
        let is_new = names.len() < 200 && names.iter().all(|name| name != word);
        if is_new && globals.raw_get::<Value>(word)?.is_nil() && locals.contains_key(word)? {
            names.push(word.to_string());
        }
    }
    Ok(names)
}

/// A function that gives what the text says, with these variables and `_ENV` as upvalues. Line numbers are those of the text.
fn around(lua: &Lua, (text, name): (&str, &str), names: &[String]) -> mlua::Result<Function> {
    let load = |body: &str| {
        let declared = if names.is_empty() { String::new() } else { format!("local {} ", names.join(",")) };
        let whole = format!("{declared}return function() {body}\nend");
        let chunk = lua.load(whole).set_name(format!("@{name}")).set_mode(mlua::chunk::ChunkMode::Text);
        chunk.into_function()?.call::<Function>(())
    };
    let returned = format!("return {text}");
    load(&returned).or_else(|_| load(text)).map_err(|error| {
        // What is wrong is said of the text as it is.
        let text = if is_function(text) { &returned } else { text };
        let alone = lua.load(text).set_name(format!("@{name}")).set_mode(mlua::chunk::ChunkMode::Text);
        alone.into_function().err().unwrap_or(error)
    })
}

/// Bytes of what is said of a text: a word of it may be all of a datagram.
const MOST_SAID: usize = 500;

fn shortened(mut message: String) -> String {
    if message.len() > MOST_SAID {
        let end = (0..=MOST_SAID).rev().find(|end| message.is_char_boundary(*end));
        message.truncate(end.unwrap_or(0));
        message.push('…');
    }
    message
}

/// Whether a text is meant to be a function, not a chunk: that is what it begins with, but for comments.
fn is_function(text: &str) -> bool {
    behind_function(text).is_some_and(|rest| rest.starts_with('('))
}

/// The name of the function that a text begins with, if it has one.
fn name_of_function(text: &str) -> Option<&str> {
    let rest = behind_function(text)?;
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && !"_.:".contains(c)).unwrap_or(rest.len());
    Some(&rest[..end]).filter(|name| !name.is_empty())
}

/// What stands behind the word `function` that a text begins with, but for comments.
fn behind_function(text: &str) -> Option<&str> {
    let mut lines = text.lines().map(str::trim_start);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with("--")).unwrap_or_default();
    let rest = first.strip_prefix("function")?;
    let is_word = rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    (!is_word).then(|| rest.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_in_a_text_has_the_line_where_it_is() {
        let problem = |text: &str| around(&Lua::new(), (text, "a.lua"), &[]).unwrap_err().to_string();
        for (text, part) in [
            ("function(pkt)\n  local n = 1\n  n = = 2\nend", "a.lua:3: unexpected symbol near '='"),
            ("-- Drops.\nfunction (pkt)\n  retrun 1\nend", "a.lua:3: syntax error near '1'"),
            ("local n = 0\nreturn function(pkt) n = = 2 end", "a.lua:2: unexpected symbol near '='"),
            ("functions(", "a.lua:1: unexpected symbol near <eof>"),
        ] {
            assert!(problem(text).contains(part), "{text}: {}", problem(text));
        }
    }

    #[test]
    fn functions_with_names_are_told_apart() {
        for (text, name) in [
            ("function(pkt) end", None),
            ("-- Drops.\n  function drop(pkt) end", Some("drop")),
            ("function a.b:c(pkt) end", Some("a.b:c")),
            ("functional(pkt)", None),
            ("local function drop(pkt) end return drop", None),
        ] {
            assert_eq!(name_of_function(text), name, "{text}");
        }
    }

    #[test]
    fn long_words_are_not_repeated() {
        let long = shortened(format!("flow 1:1: unexpected symbol near '{}'", "ä".repeat(10_000)));
        assert!(long.starts_with("flow 1:1: unexpected symbol near 'ää") && long.ends_with("ä…"), "{long}");
        assert!(long.len() <= MOST_SAID + "…".len(), "{} bytes", long.len());
        assert_eq!(shortened("short".into()), "short");
    }

    #[test]
    fn texts_are_forgotten_when_no_table_has_them() {
        let mut texts = Texts::default();
        let function = Lua::new().create_function(|_, ()| Ok(())).unwrap();
        let a = texts.named("a", None);
        assert_eq!((&*a.name, &*texts.named("a", None).name), ("flow 1", "flow 1"));
        let renamed = texts.named("a", Some("a.lua"));
        assert_eq!((&*renamed.name, &*texts.named("a", None).name), ("a.lua", "a.lua"));
        texts.made.insert((0, a.clone()), function.clone());
        texts.made.insert((1, a.clone()), function);
        texts.forget(0, 2, a.clone());
        assert_eq!((texts.made.len(), texts.by_name.len()), (1, 2));
        texts.forget(1, 2, a);
        texts.forget(1, 2, renamed);
        assert_eq!((texts.made.len(), texts.by_name.len(), texts.names.len()), (0, 0, 0));
        assert_eq!(&*texts.named("a", None).name, "flow 2");
    }
}
