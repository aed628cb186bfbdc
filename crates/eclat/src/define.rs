//! `-D NAME VALUE`: names that stand for texts.

/// A text with the values in the places of the names, wherever these are whole words, in texts and comments, too.
pub fn defined(mut text: String, defines: &[(String, String)]) -> String {
    for (name, value) in defines.iter().filter(|(name, _)| !name.is_empty()) {
        text = replaced(&text, name, value);
    }
    text
}

fn replaced(text: &str, name: &str, value: &str) -> String {
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
    }
    made + &text[end..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_words_are_replaced() {
        let defines = [("DEV", "eth0"), ("", "x"), ("N", "DEV")].map(|(a, b)| (a.to_string(), b.to_string()));
        let text = "a.attach('DEV', N) # DEVICE N_ XN DEV";
        assert_eq!(defined(text.into(), &defines), "a.attach('eth0', DEV) # DEVICE N_ XN eth0");
    }
}
