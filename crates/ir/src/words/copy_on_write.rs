//! Values that are copied when one of their copies changes.
//!
//! A state is copied wherever control flow splits, and most of what is in it changes on neither path. [`CopyOnWrite`] makes such
//! a copy a count of references; the first change of a part that is held elsewhere copies that part.

use std::ops::{Deref, DerefMut};
use std::rc::Rc;

#[derive(Clone, Default, Debug)]
pub struct CopyOnWrite<T>(Rc<T>);

impl<T> CopyOnWrite<T> {
    /// Both are the same copy, and therefore equal. They may be equal without being one copy.
    pub fn is(&self, other: &CopyOnWrite<T>) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}

impl<T: Clone + PartialEq> CopyOnWrite<Vec<T>> {
    /// What stands in both lists, in the order of the first.
    pub fn common(&self, other: &CopyOnWrite<Vec<T>>) -> CopyOnWrite<Vec<T>> {
        if self == other {
            return self.clone();
        }
        let mut near = 0;
        self.iter()
            .filter(|one| find_near(other, &mut near, |other| other == *one).is_some())
            .cloned()
            .collect()
    }
}

/// The element that is wanted. Looks first behind the one found before: lists that had been one are much alike.
pub fn find_near<'a, T>(list: &'a [T], near: &mut usize, is_wanted: impl Fn(&T) -> bool) -> Option<&'a T> {
    let (before, behind) = list.split_at(*near);
    let place = behind.iter().position(&is_wanted).map(|place| place + before.len());
    let place = place.or_else(|| before.iter().position(&is_wanted))?;
    *near = place + 1;
    list.get(place)
}

impl<T> Deref for CopyOnWrite<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Clone> DerefMut for CopyOnWrite<T> {
    fn deref_mut(&mut self) -> &mut T {
        Rc::make_mut(&mut self.0)
    }
}

impl<T: PartialEq> PartialEq for CopyOnWrite<T> {
    fn eq(&self, other: &CopyOnWrite<T>) -> bool {
        self.is(other) || self.0 == other.0
    }
}

impl<T> From<T> for CopyOnWrite<T> {
    fn from(value: T) -> CopyOnWrite<T> {
        CopyOnWrite(Rc::new(value))
    }
}

impl<'a, T> IntoIterator for &'a CopyOnWrite<T>
where
    &'a T: IntoIterator,
{
    type Item = <&'a T as IntoIterator>::Item;
    type IntoIter = <&'a T as IntoIterator>::IntoIter;
    fn into_iter(self) -> Self::IntoIter {
        (&*self.0).into_iter()
    }
}

impl<A, T: FromIterator<A>> FromIterator<A> for CopyOnWrite<T> {
    fn from_iter<I: IntoIterator<Item = A>>(items: I) -> CopyOnWrite<T> {
        CopyOnWrite::from(T::from_iter(items))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_seen_in_one_copy_only() {
        let first = CopyOnWrite::from(vec![1, 2]);
        let mut second = first.clone();
        assert!(first.is(&second));
        second.push(3);
        assert!(!first.is(&second));
        assert_eq!((first.as_slice(), second.as_slice()), (&[1, 2][..], &[1, 2, 3][..]));
    }
}
