//! What a row says of a function.

/// A function of a library.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    /// The canonical name: `string.gsub`, `print`.
    pub name: &'static str,
    /// What its results are, the last one standing for all further ones. Empty where nothing is known of them.
    pub gives: &'static [Gives],
    /// The functions of the script that it calls.
    pub calls: &'static [Callback],
    /// Whether expanded code has it: a row of `builtins`.
    pub expanded: bool,
    pub general: General,
    /// It reads fields whose names need not stand in the code.
    pub reads_any_field: bool,
    /// It reads or assigns a table as it is, which may be a shared one.
    pub is_raw: bool,
    /// What to write instead, where that is not what the library says.
    pub instead: Option<&'static str>,
}

/// What general code has of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum General {
    Nothing,
    /// The runtime's function of that name: a routine or one in Lua.
    Runtime,
    /// A subprogram made of what expanded code has.
    Stub,
}

/// What a result is.
#[derive(Clone, Copy, Debug)]
pub enum Gives {
    /// A string that it makes.
    Text,
    Integer,
    Float,
    /// A float where an argument is one, else an integer.
    Number,
    Boolean,
    /// A string that it makes, or something else.
    Mixed,
    /// The argument of that number, from 0.
    Argument(usize),
    /// The argument that has the result's number.
    Arguments,
    /// Some key of its first argument.
    Key,
    /// Some value in its first argument.
    Element,
    /// The value in its first argument that has the second one as its key.
    Field,
    /// The metatable of its first argument.
    Metatable,
    /// A function of the library's that a generic `for` calls.
    Iterator(&'static Function),
    /// What the first function that it calls gives, from its first result on.
    Called,
    /// What is in its arguments, or in a table that it makes of them; or it keeps them elsewhere.
    Given,
    /// Nothing: there is no such result.
    Nothing,
}

/// All results of a function together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Text,
    Integer,
    Boolean,
    /// Strings that it makes, and others.
    Mixed,
    /// What it is given, or what is in that.
    Given,
}

/// A function of the script that is called.
#[derive(Clone, Copy, Debug)]
pub struct Callback {
    /// The number of the argument that it is, from 0.
    pub argument: usize,
    pub with: With,
}

/// What it is called with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum With {
    /// The arguments from that one on.
    Arguments(usize),
    /// So many values of the table that is the first argument.
    Elements(usize),
    /// So many parts of strings.
    Parts(usize),
    /// An error's message.
    Message,
}

impl Function {
    /// A function that only load time has.
    pub(crate) const fn load(name: &'static str) -> Function {
        Function {
            name,
            gives: &[],
            calls: &[],
            expanded: false,
            general: General::Nothing,
            reads_any_field: false,
            is_raw: false,
            instead: None,
        }
    }

    /// One that general code has, too.
    pub(crate) const fn general(name: &'static str, gives: &'static [Gives]) -> Function {
        Function { gives, general: General::Runtime, ..Function::load(name) }
    }

    /// One that both forms of packet code have, each its own.
    pub(crate) const fn both(name: &'static str, gives: &'static [Gives]) -> Function {
        Function { expanded: true, ..Function::general(name, gives) }
    }

    /// One that both forms have, general code as a stub.
    pub(crate) const fn stub(name: &'static str, gives: &'static [Gives]) -> Function {
        Function { expanded: true, general: General::Stub, ..Function { gives, ..Function::load(name) } }
    }

    pub(crate) const fn calls(self, calls: &'static [Callback]) -> Function {
        Function { calls, ..self }
    }

    pub(crate) const fn reads_any_field(self) -> Function {
        Function { reads_any_field: true, ..self }
    }

    pub(crate) const fn raw(self) -> Function {
        Function { is_raw: true, ..self }
    }

    pub(crate) const fn instead(self, instead: &'static str) -> Function {
        Function { instead: Some(instead), ..self }
    }

    /// The part of the canonical name that is the key in its table.
    pub fn key(&self) -> &'static str {
        crate::key(self.name)
    }

    /// Whether there is the function at packet time, in one form or the other.
    pub fn is_for_packets(&self) -> bool {
        self.general != General::Nothing
    }

    /// What the result of that number, from 0, is.
    pub fn result(&self, number: usize) -> Gives {
        self.gives.get(number).or(self.gives.last()).copied().unwrap_or(Gives::Nothing)
    }

    /// What its results are, whichever; `None` where nothing is known of them.
    pub fn kind(&self) -> Option<Kind> {
        let mut kinds = self.gives.iter().filter_map(|gives| gives.kind());
        let first = kinds.next()?;
        Some(kinds.fold(first, |one, other| match (one, other) {
            (one, other) if one == other => one,
            (Kind::Given, _) | (_, Kind::Given) => Kind::Given,
            _ => Kind::Mixed,
        }))
    }

    /// Whether it makes strings, or gives a function that does.
    pub fn makes_text(&self) -> bool {
        self.iterator().is_some_and(Function::makes_text)
            || self.gives.iter().any(|gives| matches!(gives, Gives::Text | Gives::Mixed))
    }

    /// The function that it gives for a generic `for`.
    pub fn iterator(&self) -> Option<&'static Function> {
        match self.gives.first() {
            Some(Gives::Iterator(next)) => Some(next),
            _ => None,
        }
    }

    /// Whether it gives what is in a table, whichever key that has.
    pub fn gives_elements(&self) -> bool {
        self.gives.iter().any(|gives| matches!(gives, Gives::Key | Gives::Element))
    }

    /// Whether it gives what a function gives that it calls.
    pub fn gives_results_of_others(&self) -> bool {
        self.gives.iter().any(|gives| matches!(gives, Gives::Called))
    }

    /// The number of the argument that is called with parts of strings.
    pub fn parts_go_to(&self) -> Option<usize> {
        let parts = self.calls.iter().find(|callback| matches!(callback.with, With::Parts(_)));
        parts.map(|callback| callback.argument)
    }
}

impl Gives {
    fn kind(self) -> Option<Kind> {
        match self {
            Gives::Text => Some(Kind::Text),
            Gives::Integer | Gives::Number => Some(Kind::Integer),
            Gives::Boolean => Some(Kind::Boolean),
            Gives::Mixed | Gives::Iterator(_) => Some(Kind::Mixed),
            Gives::Nothing => None,
            _ => Some(Kind::Given),
        }
    }
}
