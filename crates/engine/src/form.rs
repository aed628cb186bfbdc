//! What handlers are compiled to.

/// What handlers are compiled to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// Everything that is called is expanded in place, specialised to what load time knows: the fastest, for a part of the language.
    #[default]
    Expanded,
    /// Function by function, on registers in arena memory: the whole language, at any size.
    General,
}

impl Form {
    /// What a person calls it.
    pub fn name(self) -> &'static str {
        match self {
            Form::Expanded => "expanded code",
            Form::General => "general code",
        }
    }
}
