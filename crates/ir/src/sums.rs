//! Variables that handlers only add to, which have a word for each CPU besides their own.

/// Where those words are in the section `state`: one of the first CPU, and one of each further CPU, up to the section's end. The variable's
/// value is the sum of its payload and all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sums {
    /// In bytes from the start of the section.
    pub first: u32,
    /// Bytes from a CPU's word to the next CPU's.
    pub stride: u32,
}

impl Sums {
    /// What all CPUs have added, of a section that is read word by word.
    pub fn added(&self, word: impl Fn(usize) -> Option<u64>) -> u64 {
        let places = (self.first as usize..).step_by(self.stride.max(8) as usize);
        places.map_while(word).fold(0, u64::wrapping_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_words_up_to_the_end_are_added() {
        let words = [7, 1, 7, 2, 7, u64::MAX];
        let word = |at: usize| words.get(at / 8).copied();
        assert_eq!(Sums { first: 8, stride: 16 }.added(word), 2);
        assert_eq!(Sums { first: 48, stride: 16 }.added(word), 0);
    }
}
