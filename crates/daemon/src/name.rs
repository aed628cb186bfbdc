//! Names of running scripts.

use crate::DaemonError;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Display, Formatter};
use std::path::Path;
use std::str::FromStr;

/// The name of a running script: 1 to 48 of `A–Z a–z 0–9 . _ -`, no dot in front. It is the stem of file names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Name(String);

const LONGEST: usize = 48;

fn is_allowed(c: char) -> bool {
    c.is_ascii_alphanumeric() || "._-".contains(c)
}

impl FromStr for Name {
    type Err = DaemonError;

    fn from_str(text: &str) -> Result<Name, DaemonError> {
        let fits = (1..=LONGEST).contains(&text.len());
        if fits && text.chars().all(is_allowed) && !text.starts_with('.') {
            Ok(Name(text.to_string()))
        } else {
            Err(DaemonError::InvalidName { name: text.to_string() })
        }
    }
}

impl Name {
    /// The name that a script gets whose user gives none: the file's stem, with `_` for what names do not have.
    pub fn of_script(script: &Path) -> Name {
        let stem = script.file_stem().unwrap_or_default().to_string_lossy();
        let name: String =
            stem.chars().map(|c| if is_allowed(c) { c } else { '_' }).take(LONGEST - 4).collect();
        match name.trim_start_matches('.') {
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
        for name in ["", ".", "..", ".a", "a/b", "a b", "é", "a\0", &"x".repeat(49)] {
            assert!(name.parse::<Name>().is_err(), "{name:?}");
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
