//! Names that may have been meant.

/// Names that a person is told of at most.
const MOST: usize = 3;

/// Of `names`, those that are most like `name`: that have it in them, or from which it differs in few letters.
pub fn nearest<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
    let allowed = (name.len() / 3).max(1);
    let mut found: Vec<(usize, &str)> = names
        .filter_map(|known| {
            let distance = distance(name, known, allowed).or_else(|| {
                let is_part = name.len() >= 3 && (known.contains(name) || name.contains(known));
                is_part.then(|| allowed + known.len().abs_diff(name.len()))
            });
            distance.map(|distance| (distance, known))
        })
        .collect();
    found.sort();
    found.dedup();
    found.into_iter().take(MOST).map(|(_, name)| name).collect()
}

/// How many letters have to be put in, taken out or exchanged to make one of the other (Levenshtein's distance); `None` if more than `most`.
fn distance(a: &str, b: &str, most: usize) -> Option<usize> {
    if a.len().abs_diff(b.len()) > most {
        return None;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (number, letter) in a.bytes().enumerate() {
        let mut before = row[0];
        row[0] = number + 1;
        for (column, other) in b.bytes().enumerate() {
            let replaced = before + usize::from(letter != other);
            before = row[column + 1];
            row[column + 1] = replaced.min(row[column] + 1).min(before + 1);
        }
    }
    row.last().copied().filter(|distance| *distance <= most)
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
    }
}
