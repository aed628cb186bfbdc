//! The lists that packets are checked against, as text for Lua and as map entries for the C programs.

use crate::numbers::Numbers;

/// `ONE_NAME` in bench/c/names.h.
pub const ONE_NAME: &str = "metrics.ads-network.example";
pub const UNLISTED_NAME: &str = "www.moonlit-meadow.example";
pub const LISTED_AGENT: &str =
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36";
pub const UNLISTED_AGENT: &str =
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/121.0.0.0 Safari/537.36";

/// `count` different host names of 12 to 40 bytes, among them [`ONE_NAME`].
pub fn names(count: usize) -> Vec<String> {
    const WORDS: [&str; 16] = [
        "ads", "track", "pixel", "metrics", "beacon", "cdn", "stat", "log", "click", "banner", "sync", "tag",
        "collect", "count", "promo", "edge",
    ];
    let mut numbers = Numbers::new(10_000);
    let mut names: Vec<String> = (1..count)
        .map(|i| {
            let word = |at: usize| WORDS[at % WORDS.len()];
            let (host, domain) = (word(numbers.below(16)), word(numbers.below(16)));
            let extra =
                if numbers.below(3) == 0 { format!("{}.", word(numbers.below(16))) } else { String::new() };
            format!("{host}{i}.{extra}{domain}-{:x}.example", numbers.next() & 0xf_ffff)
        })
        .collect();
    names.insert(count / 2, ONE_NAME.to_string());
    names
}

/// 100 different User-Agent strings, among them [`LISTED_AGENT`].
pub fn agents() -> Vec<String> {
    let systems = ["X11; Linux x86_64", "Windows NT 10.0; Win64; x64", "Macintosh; Intel Mac OS X 10_15_7"];
    let mut agents: Vec<String> = (0..99)
        .map(|i| {
            format!(
                "Mozilla/5.0 ({}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{}.0.0.0 Safari/537.36",
                systems[i % 3],
                60 + i / 3
            )
        })
        .collect();
    agents.push(LISTED_AGENT.to_string());
    agents
}

/// One item per line.
pub fn text(items: &[String]) -> String {
    items.iter().map(|item| format!("{item}\n")).collect()
}

/// The key of bench/c/sni_hash.c: the name, padded with zeros. None when it is longer than 64 bytes.
pub fn padded_key(name: &str) -> Option<[u8; 64]> {
    padded(name.as_bytes())
}

/// Keys and values of a shared table `map{key = "string:64", value = "boolean"}` in which each item is true: length, text and
/// zeros; 1.
pub fn shared_entries(list: &[String]) -> Vec<(Vec<u8>, [u8; 8])> {
    let entry = |text: &String| {
        let name: [u8; 68] = padded(text.as_bytes())?;
        let length = u32::try_from(text.len()).ok()?;
        Some(([&length.to_ne_bytes(), &name[..]].concat(), 1u64.to_ne_bytes()))
    };
    list.iter().filter_map(entry).collect()
}

/// Key and value of the maps that are found by hash: bench/c/hash.h, with `BYTES` bytes for the text in the value.
pub fn hashed_entry<const BYTES: usize>(text: &str) -> Option<([u8; 8], Vec<u8>)> {
    let bytes = text.as_bytes();
    let words: [u8; BYTES] = padded(bytes)?;
    let hash = bytes
        .chunks(8)
        .map(word)
        .fold(0x9e37_79b9_7f4a_7c15, |hash: u64, word| (hash ^ word).wrapping_mul(0xff51_afd7_ed55_8ccd));
    let mut value = (bytes.len() as u64).to_le_bytes().to_vec();
    value.extend(words);
    Some((hash.to_le_bytes(), value))
}

fn word(chunk: &[u8]) -> u64 {
    u64::from_le_bytes(padded(chunk).unwrap_or_default())
}

fn padded<const BYTES: usize>(text: &[u8]) -> Option<[u8; BYTES]> {
    let mut padded = [0; BYTES];
    padded.get_mut(..text.len())?.copy_from_slice(text);
    Some(padded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn lists_have_no_duplicates_and_fit_the_maps() {
        for (list, count) in [(names(1), 1), (names(10_000), 10_000), (agents(), 100)] {
            assert_eq!(list.iter().collect::<HashSet<_>>().len(), count);
            let hashes: HashSet<_> =
                list.iter().map(|item| hashed_entry::<256>(item).expect("fits").0).collect();
            assert_eq!(hashes.len(), count);
        }
        assert!(names(10_000).iter().all(|name| padded_key(name).is_some()));
        assert!(!names(10_000).iter().any(|name| name == UNLISTED_NAME));
        assert!(!agents().iter().any(|agent| agent == UNLISTED_AGENT));
    }
}
