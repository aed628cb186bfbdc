//! Names of running scripts.

use crate::DaemonError;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Display, Formatter};
use std::path::Path;
use std::str::FromStr;

/// The name of a running script: 1 to 48 of `A–Z a–z 0–9 . _ -`, with neither a dot nor a hyphen in front: it is the stem of
/// file names, and an operand of commands.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Name(String);

const LONGEST: usize = 48;

/// Hidden files begin with the one, options with the other.
const NOT_IN_FRONT: [char; 2] = ['.', '-'];

fn is_allowed(c: char) -> bool {
    c.is_ascii_alphanumeric() || "._-".contains(c)
}

impl FromStr for Name {
    type Err = DaemonError;

    fn from_str(text: &str) -> Result<Name, DaemonError> {
        match problem(text) {
            None => Ok(Name(text.to_string())),
            Some(problem) => Err(DaemonError::InvalidName { name: text.to_string(), problem }),
        }
    }
}

/// What keeps a text from being a name.
fn problem(text: &str) -> Option<String> {
    let alphabet = "letters (A-Z, a-z), digits, `.`, `_` and `-`";
    let length = text.chars().count();
    match text.chars().find(|c| !is_allowed(*c)) {
        _ if length == 0 => Some(format!("it is empty; a name has 1 to {LONGEST} {alphabet}")),
        Some(c) => {
            Some(format!("'{}' cannot be in it; a name has 1 to {LONGEST} {alphabet}", c.escape_debug()))
        }
        None if length > LONGEST => Some(format!("it has {length} characters; a name has 1 to {LONGEST}")),
        None if text.starts_with(NOT_IN_FRONT) => Some("`.` and `-` cannot be in front".to_string()),
        None => None,
    }
}

impl Name {
    /// The name that a script gets whose user gives none: the file's stem, with `_` for what names do not have.
    pub fn of_script(script: &Path) -> Name {
        let stem = script.file_stem().unwrap_or_default().to_string_lossy();
        let name: String =
            stem.chars().map(|c| if is_allowed(c) { c } else { '_' }).take(LONGEST - 4).collect();
        match name.trim_start_matches(NOT_IN_FRONT) {
            "" => Name("script".to_string()),
            name => Name(name.to_string()),
        }
    }

    /// The name for the `number`th script of that name; the first one's is the name itself.
    pub fn numbered(&self, number: u32) -> Name {
        match number {
            0 | 1 => self.clone(),
            number => {
                let number = format!("-{number}");
                let stem: String = self.0.chars().take(LONGEST - number.len()).collect();
                Name(stem + &number)
            }
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Display for Name {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl TryFrom<String> for Name {
    type Error = DaemonError;

    fn try_from(text: String) -> Result<Name, DaemonError> {
        text.parse()
    }
}

impl From<Name> for String {
    fn from(name: Name) -> String {
        name.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_safe_as_file_names() {
        for name in ["a", "sni_filter", "a.b-2", "9", &"x".repeat(48)] {
            assert_eq!(name.parse::<Name>().unwrap().as_str(), name);
        }
        for name in ["", ".", "..", ".a", "-x", "--", "-", "a/b", "a b", "é", "a\0", "a\n", &"x".repeat(49)]
        {
            assert!(name.parse::<Name>().is_err(), "{name:?}");
        }
    }

    /// Where a name is an option's value, the message is all that is shown.
    #[test]
    fn the_message_says_how_long_a_name_may_be_and_of_what() {
        for (name, part) in [
            ("", "it is empty; a name has 1 to 48 letters (A-Z, a-z), digits, `.`, `_` and `-`"),
            ("a/b", "'/' cannot be in it; a name has 1 to 48 letters (A-Z, a-z), digits, `.`, `_` and `-`"),
            ("a\nb", "'\\n' cannot be in it"),
            (&"x".repeat(4900), "it has 4900 characters; a name has 1 to 48"),
            ("-x", "`.` and `-` cannot be in front"),
            (".x", "`.` and `-` cannot be in front"),
        ] {
            let message = name.parse::<Name>().unwrap_err().to_string();
            assert!(message.contains(part), "{message}");
            assert!(message.len() < 200, "{message}");
        }
    }

    #[test]
    fn scripts_give_names() {
        for (script, name) in [
            ("filter.lua", "filter"),
            ("/etc/x/sni filter.lua", "sni_filter"),
            ("a.b.lua", "a.b"),
            ("..lua", "script"),
            ("", "script"),
            ("-x.lua", "x"),
            ("-.-.lua", "script"),
            ("größe.lua", "gr__e"),
        ] {
            assert_eq!(Name::of_script(Path::new(script)).as_str(), name, "{script}");
        }
        let long = Name::of_script(Path::new(&"y".repeat(90)));
        for number in [1, 2, 100, u32::MAX] {
            assert!(long.numbered(number).as_str().parse::<Name>().is_ok());
        }
        assert_eq!(Name::of_script(Path::new("a.lua")).numbered(2).as_str(), "a-2");
    }
}
