//! `-D NAME VALUE`: names that stand for texts.

use moonhook_diagnostic::Diagnostic;

/// Bytes of a script with its definitions, at most: values can have other names in them, each twice, and so on.
pub const MOST_BYTES: usize = 16 << 20;

/// A text with the values in the places of the names, wherever these are whole words, in texts and comments, too. One definition comes
/// after the other, so that a value can have names that are defined later.
///
/// # Errors
/// The text of the script that is called `file` is longer than [`MOST_BYTES`], or becomes so.
pub fn defined(
    mut text: String,
    defines: &[(String, String)],
    file: &str,
) -> Result<String, Box<Diagnostic>> {
    if text.len() > MOST_BYTES {
        return Err(too_long(file, None));
    }
    for (name, value) in defines.iter().filter(|(name, _)| !name.is_empty()) {
        text = replaced(&text, name, value).ok_or_else(|| too_long(file, Some(name)))?;
    }
    Ok(text)
}

/// The text, unless it becomes too long.
fn replaced(text: &str, name: &str, value: &str) -> Option<String> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let (mut made, mut end) = (String::with_capacity(text.len()), 0);
    for (at, _) in text.match_indices(name) {
        let behind = at + name.len();
        if text[..at].ends_with(is_part) || text[behind..].starts_with(is_part) {
            continue;
        }
        made.push_str(&text[end..at]);
        made.push_str(value);
        end = behind;
        if made.len() > MOST_BYTES {
            return None;
        }
    }
    made.push_str(&text[end..]);
    (made.len() <= MOST_BYTES).then_some(made)
}

fn too_long(file: &str, name: Option<&str>) -> Box<Diagnostic> {
    let with = name.map_or(String::new(), |name| format!(" with '{name}' defined"));
    let message = format!("{file}: the script has{with} more than {} MiB", MOST_BYTES >> 20);
    let help =
        "let values of `-D` have no other defined names in them, and fill large maps while the script runs";
    Box::new(Diagnostic::new("MH0319", message).help(help))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs<const N: usize>(defines: [(&str, &str); N]) -> [(String, String); N] {
        defines.map(|(name, value)| (name.to_string(), value.to_string()))
    }

    #[test]
    fn whole_words_are_replaced() {
        let defines = pairs([("DEV", "eth0"), ("", "x"), ("N", "DEV")]);
        let text = "a.attach('DEV', N) # DEVICE N_ XN DEV";
        let made = defined(text.into(), &defines, "a.eclat").expect(text);
        assert_eq!(made, "a.attach('eth0', DEV) # DEVICE N_ XN eth0");
    }

    #[test]
    fn texts_do_not_grow_without_bounds() {
        let name = |number| format!("n{number}");
        let doubling: Vec<_> =
            (0..60).map(|number| (name(number), [name(number + 1), name(number + 1)].join(" "))).collect();
        let error = defined("n0\n".repeat(1000), &doubling, "a.eclat").expect_err("too long");
        assert_eq!(error.code, "MH0319");
        assert_eq!(error.message, "a.eclat: the script has with 'n12' defined more than 16 MiB");
        let one = pairs([("a", "bb")]);
        assert!(defined("a".repeat(MOST_BYTES), &one, "a.eclat").is_ok(), "one long word");
        assert!(defined("a\n".repeat(MOST_BYTES / 2), &one, "a.eclat").is_err());
        assert!(defined(" ".repeat(MOST_BYTES + 1), &[], "a.eclat").is_err());
    }
}
