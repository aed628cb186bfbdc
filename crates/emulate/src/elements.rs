//! The values of maps' elements, each with a number that addresses are made of.
//!
//! A value that is no more in its map stays until the call ends, as a program of the kernel can still use what it has looked up.

#[derive(Debug, Default)]
pub(crate) struct Elements {
    values: Vec<Vec<u8>>,
    free: Vec<u32>,
    removed: Vec<u32>,
}

/// As many as addresses can be made of.
const MOST: usize = 0x7fff_0000;

impl Elements {
    /// `None` where there are too many.
    pub fn add(&mut self, value: Vec<u8>) -> Option<u32> {
        if let Some(number) = self.free.pop() {
            self.values[number as usize] = value;
            return Some(number);
        }
        let number = self.values.len();
        (number < MOST).then(|| {
            self.values.push(value);
            number as u32
        })
    }

    pub fn remove(&mut self, number: u32) {
        self.removed.push(number);
    }

    /// What has been removed can be used again: nobody has its address any more.
    pub fn recycle(&mut self) {
        for number in &self.removed {
            self.values[*number as usize] = Vec::new();
        }
        self.free.append(&mut self.removed);
    }

    pub fn value(&self, number: u32) -> Option<&[u8]> {
        self.values.get(number as usize).map(Vec::as_slice)
    }

    pub fn value_mut(&mut self, number: u32) -> Option<&mut [u8]> {
        self.values.get_mut(number as usize).map(Vec::as_mut_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removed_values_stay_until_the_end_of_the_call() {
        let mut elements = Elements::default();
        let first = elements.add(vec![1]).unwrap();
        elements.remove(first);
        assert_ne!(elements.add(vec![2]), Some(first));
        assert_eq!(elements.value(first), Some(&[1][..]));
        elements.recycle();
        assert_eq!(elements.value(first), Some(&[][..]));
        assert_eq!(elements.add(vec![3]), Some(first));
    }
}
