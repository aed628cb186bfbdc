//! What is taken of the datagrams that arrive.
//!
//! A datagram's signature is looked at before anything is kept of it, so that nobody else's takes memory; each sender has one update
//! at a time that is not whole yet. A sequence number is taken once, and none that is less than one before: what was seen on the way
//! cannot be sent again, here or later.

use crate::datagram::{Datagram, FormatError};
use crate::keys::PublicKey;
use crate::update::Update;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// What a receiver is told by who runs it.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Its name: updates that have another one are not for it.
    pub name: String,
    /// Bytes of a text, at most.
    pub size: usize,
    /// How far sequence numbers may be from the time that they arrive at; without it, any distance will do.
    pub age: Option<Duration>,
}

/// Why nothing is done for a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("{0}")]
    Malformed(#[from] FormatError),
    #[error("its sender is not known")]
    Unknown,
    #[error("it is not signed by its sender")]
    Unsigned,
    #[error("it is for another receiver")]
    Foreign,
    #[error("its sequence number was there before")]
    Replayed,
    #[error("its sequence number is too far from the present time")]
    Late,
    #[error("its text is too long")]
    Oversized,
    #[error("it does not belong to the parts before it")]
    Mixed,
}

/// The greatest sequence numbers that were taken, by public key. Clones are the same.
#[derive(Clone, Debug)]
pub struct Sequences {
    greatest: Arc<Mutex<HashMap<[u8; 32], u64>>>,
    /// No less than this is taken: who took updates before may have taken it.
    begun: u64,
}

/// Takes updates.
#[derive(Debug)]
pub struct Receiver {
    limits: Limits,
    senders: Vec<Sender>,
    sequences: Sequences,
}

#[derive(Debug)]
struct Sender {
    key: PublicKey,
    partial: Option<Partial>,
}

/// An update that is not whole yet.
#[derive(Debug)]
struct Partial {
    /// Without its text.
    update: Update,
    parts: Vec<Option<Vec<u8>>>,
}

impl Sequences {
    /// Numbers from that time on are taken.
    pub fn since(time: SystemTime) -> Sequences {
        Sequences { greatest: Arc::default(), begun: sequence(time) }
    }

    fn greatest(&self, key: &PublicKey) -> u64 {
        let greatest = self.greatest.lock().unwrap_or_else(PoisonError::into_inner);
        greatest.get(key.bytes()).copied().unwrap_or_default().max(self.begun)
    }

    /// Takes a number, if it is greater than all before: another receiver may have taken one since this one has looked.
    fn take(&self, key: &PublicKey, sequence: u64) -> bool {
        let mut greatest = self.greatest.lock().unwrap_or_else(PoisonError::into_inner);
        let greatest = greatest.entry(*key.bytes()).or_default();
        let is_new = sequence > *greatest;
        *greatest = sequence.max(*greatest);
        is_new
    }
}

/// The sequence number of what is sent at that time: microseconds since 1970.
pub fn sequence(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

impl Receiver {
    /// Takes what is signed by one of `keys`.
    pub fn new(keys: Vec<PublicKey>, limits: Limits, sequences: Sequences) -> Receiver {
        let senders = keys.into_iter().map(|key| Sender { key, partial: None }).collect();
        Receiver { limits, senders, sequences }
    }

    /// Takes a datagram that has arrived `now`; gives the update whose last missing part it is.
    ///
    /// # Errors
    /// Why it is not taken; then nothing of it is kept.
    pub fn take(&mut self, bytes: &[u8], now: SystemTime) -> Result<Option<Update>, Refusal> {
        let datagram = Datagram::parse(bytes)?;
        let mut of_sender = false;
        let found = self.senders.iter_mut().find(|sender| {
            let is_named = sender.key.sender() == datagram.sender;
            of_sender |= is_named;
            is_named && datagram.is_signed_by(&sender.key)
        });
        let Some(sender) = found else {
            return Err(if of_sender { Refusal::Unsigned } else { Refusal::Unknown });
        };
        if !datagram.receiver.is_empty() && datagram.receiver != self.limits.name {
            return Err(Refusal::Foreign);
        }
        if datagram.sequence <= self.sequences.greatest(&sender.key) {
            return Err(Refusal::Replayed);
        }
        let distance = Duration::from_micros(datagram.sequence.abs_diff(sequence(now)));
        if self.limits.age.is_some_and(|age| distance > age) {
            return Err(Refusal::Late);
        }
        let text = sender.add(&datagram, self.limits.size)?;
        let Some(text) = text else { return Ok(None) };
        let partial = sender.partial.take();
        if !self.sequences.take(&sender.key, datagram.sequence) {
            return Err(Refusal::Replayed);
        }
        let text = String::from_utf8(text).map_err(|_| FormatError::Text)?;
        Ok(partial.map(|partial| Update { text, ..partial.update }))
    }
}

impl Sender {
    /// Adds a part; gives the whole text when it is the last one that was missing.
    fn add(&mut self, datagram: &Datagram<'_>, size: usize) -> Result<Option<Vec<u8>>, Refusal> {
        let same = |partial: &Partial| partial.update.sequence.cmp(&datagram.sequence);
        match self.partial.as_ref().map(same) {
            Some(Ordering::Greater) => return Err(Refusal::Replayed),
            Some(Ordering::Equal) => {}
            Some(Ordering::Less) | None => self.partial = Some(Partial::of(datagram)),
        }
        let Some(partial) = &mut self.partial else { return Ok(None) };
        if !partial.has(datagram) {
            return Err(Refusal::Mixed);
        }
        let others = partial.parts.iter().flatten().map(Vec::len).sum::<usize>();
        let part = &mut partial.parts[usize::from(datagram.part)];
        if part.is_none() {
            if others + datagram.text.len() > size {
                return Err(Refusal::Oversized);
            }
            *part = Some(datagram.text.to_vec());
        }
        let is_whole = partial.parts.iter().all(Option::is_some);
        Ok(is_whole.then(|| partial.parts.iter().flatten().flatten().copied().collect()))
    }
}

impl Partial {
    fn of(datagram: &Datagram<'_>) -> Partial {
        let update = Update {
            operation: datagram.operation,
            sequence: datagram.sequence,
            receiver: datagram.receiver.to_string(),
            table: datagram.table.to_string(),
            key: datagram.key.to_string(),
            text: String::new(),
        };
        Partial { update, parts: vec![None; usize::from(datagram.parts)] }
    }

    fn has(&self, datagram: &Datagram<'_>) -> bool {
        let Update { operation, receiver, table, key, .. } = &self.update;
        let own = (*operation, receiver.as_str(), table.as_str(), key.as_str(), self.parts.len());
        let Datagram { operation, receiver, table, key, parts, .. } = *datagram;
        own == (operation, receiver, table, key, usize::from(parts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two receivers may have looked at the greatest number before either takes one.
    #[test]
    fn the_greatest_number_never_goes_back() {
        let sequences = Sequences::since(SystemTime::UNIX_EPOCH);
        let key = SecretKey::of_seed(&[1; 32]).public();
        let taken = [11, 10, 11, 12].map(|number| sequences.clone().take(&key, number));
        assert_eq!(taken, [true, false, false, true]);
        assert_eq!(sequences.greatest(&key), 12);
    }
    use crate::keys::SecretKey;
    use crate::update::Operation;

    const NOW: Duration = Duration::from_secs(2_000_000_000);

    fn now() -> SystemTime {
        SystemTime::UNIX_EPOCH + NOW
    }

    fn secret(number: u8) -> SecretKey {
        SecretKey::of_seed(&[number; 32])
    }

    fn receiver() -> Receiver {
        let limits = Limits { name: "edge".into(), size: 5000, age: Some(Duration::from_secs(60)) };
        let keys = vec![secret(1).public(), secret(2).public()];
        Receiver::new(keys, limits, Sequences::since(now() - Duration::from_secs(3600)))
    }

    fn update(sequence: i64, text: &str) -> Update {
        Update {
            operation: Operation::Set,
            sequence: (NOW.as_micros() as u64).wrapping_add_signed(sequence),
            receiver: String::new(),
            table: "flows".into(),
            key: "sport=7".into(),
            text: text.into(),
        }
    }

    fn sent(update: &Update, number: u8) -> Vec<Vec<u8>> {
        update.datagrams(&secret(number)).unwrap()
    }

    #[test]
    fn what_is_signed_arrives_once() {
        let (mut receiver, first) = (receiver(), update(0, "function(p) end"));
        let bytes = &sent(&first, 1)[0];
        assert_eq!(receiver.take(bytes, now()), Ok(Some(first.clone())));
        assert_eq!(receiver.take(bytes, now()), Err(Refusal::Replayed));
        let before = update(-1, "");
        assert_eq!(receiver.take(&sent(&before, 1)[0], now()), Err(Refusal::Replayed));
        // Each sender counts on its own.
        assert_eq!(receiver.take(&sent(&before, 2)[0], now()), Ok(Some(before)));
        // Who takes the sequences over knows of it.
        let mut later = Receiver { senders: Vec::new(), ..receiver };
        later.senders.push(Sender { key: secret(1).public(), partial: None });
        assert_eq!(later.take(bytes, now()), Err(Refusal::Replayed));
    }

    #[test]
    fn several_parts_come_in_any_order_and_more_than_once() {
        let (mut receiver, whole) = (receiver(), update(0, &"é".repeat(2400)));
        let parts = sent(&whole, 1);
        assert_eq!(parts.len(), 4);
        for part in [3, 1, 3, 0, 1] {
            assert_eq!(receiver.take(&parts[part], now()), Ok(None));
        }
        assert_eq!(receiver.take(&parts[2], now()), Ok(Some(whole)));
        assert_eq!(receiver.take(&parts[2], now()), Err(Refusal::Replayed));
    }

    #[test]
    fn a_later_update_takes_the_place_of_one_that_is_not_whole() {
        let (mut receiver, long) = (receiver(), update(0, &"x".repeat(3000)));
        let parts = sent(&long, 1);
        assert_eq!(receiver.take(&parts[0], now()), Ok(None));
        let other = update(1, &"y".repeat(3000));
        assert_eq!(receiver.take(&sent(&other, 1)[0], now()), Ok(None));
        assert_eq!(receiver.take(&parts[1], now()), Err(Refusal::Replayed));
        let mixed = Update { key: "sport=8".into(), ..other };
        assert_eq!(receiver.take(&sent(&mixed, 1)[1], now()), Err(Refusal::Mixed));
    }

    #[test]
    fn what_is_not_to_be_taken_has_a_reason() {
        let mut receiver = receiver();
        let bytes = sent(&update(0, "text"), 1).remove(0);
        let mut take = |bytes: &[u8]| receiver.take(bytes, now()).unwrap_err();
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            // Nothing of it may be changed.
            let reason = take(&changed);
            let is_sender = (8..16).contains(&at);
            assert!(
                reason != Refusal::Replayed && (reason == Refusal::Unknown) == is_sender,
                "{at}: {reason}"
            );
            assert_eq!(take(&bytes[..at]), Refusal::Malformed(FormatError::Length));
        }
        assert_eq!(take(&[bytes.clone(), vec![0]].concat()), Refusal::Malformed(FormatError::Length));
        assert_eq!(take(&sent(&update(0, ""), 3)[0]), Refusal::Unknown);
        let foreign = Update { receiver: "core".into(), ..update(0, "") };
        assert_eq!(take(&sent(&foreign, 1)[0]), Refusal::Foreign);
        for away in [-61_000_000, 61_000_000] {
            assert_eq!(take(&sent(&update(away, ""), 1)[0]), Refusal::Late);
        }
        assert_eq!(take(&sent(&update(-3_600_000_000, ""), 1)[0]), Refusal::Replayed);
        let long = sent(&update(0, &"x".repeat(5001)), 1);
        let reasons: Vec<_> = long.iter().map(|part| receiver.take(part, now())).collect();
        assert_eq!(reasons, [Ok(None), Ok(None), Ok(None), Err(Refusal::Oversized)]);
    }

    #[test]
    fn who_is_named_may_be_meant() {
        let named = Update { receiver: "edge".into(), ..update(0, "x") };
        assert_eq!(receiver().take(&sent(&named, 1)[0], now()), Ok(Some(named)));
    }
}
