//! Names that may have been meant.

/// Names that a person is told of at most.
const MOST: usize = 3;

/// Letters of a name from which on it may be meant by a part of it, or by a name that it is a part of.
const FEWEST: usize = 3;

/// Of `names`, those that are most like `name`: that have it in them, or from which it differs in few letters.
pub fn nearest<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
    let allowed = (name.len() / 3).max(1);
    let mut found: Vec<(usize, &str)> = names
        .filter_map(|known| {
            let distance = strsim::levenshtein(name, known);
            let is_long = name.len().min(known.len()) >= FEWEST;
            let is_part = is_long && (known.contains(name) || name.contains(known));
            (distance <= allowed || is_part).then_some((distance, known))
        })
        .collect();
    found.sort();
    found.dedup();
    found.into_iter().take(MOST).map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_near_by_few_letters_or_by_a_part() {
        let near = |name| nearest(name, ["sys_enter", "sys_exit", "tcp_probe", "kfree_skb"].into_iter());
        assert_eq!(near("sys_entr"), ["sys_enter"]);
        assert_eq!(near("free_skb"), ["kfree_skb"]);
        assert_eq!(near("skb"), ["kfree_skb"]);
        assert!(near("nothing_like_it").is_empty());
        assert!(nearest("nonsense", ["se"].into_iter()).is_empty());
    }
}
