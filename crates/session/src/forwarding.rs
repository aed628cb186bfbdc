//! Copies of packets that handlers forward which are written for Lunatik: their programs send them as events, and this process by a raw socket.

use moonhook_install::FrameSender;
use moonhook_load::FORWARDED;
use moonhook_records::{Failure, Message, Notice, Text};
use moonhook_schema::Datum;
use nix::errno::Errno;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Sends what a generation's handlers forward, in one network namespace.
pub struct Forwarding {
    netns: Option<String>,
    sender: Option<FrameSender>,
    /// Said already why there is no socket.
    has_told: bool,
    lost: Arc<AtomicU64>,
}

/// What has become of an event.
pub enum Forwarded {
    /// It is none of a copy.
    Other,
    /// It has been seen to; a person should know this, if there is something.
    Done(Option<Message>),
}

impl Forwarding {
    /// For scripts with these options: `None` where they are not written for Lunatik. Copies that are not sent, and should have been, are counted in `lost`.
    pub fn of(
        load: &moonhook_load::Options,
        netns: Option<&str>,
        lost: Arc<AtomicU64>,
    ) -> Option<Forwarding> {
        let forwarding = Forwarding { netns: netns.map(str::to_string), sender: None, has_told: false, lost };
        load.root.is_some().then_some(forwarding)
    }

    /// Sends the frame of an event, if it is one. The socket is made for the first one.
    pub fn take(&mut self, notice: &Notice) -> Forwarded {
        if notice.name != FORWARDED.as_bytes() {
            return Forwarded::Other;
        }
        let Some((interface, frame)) = frame(notice) else {
            self.count();
            return Forwarded::Done(None);
        };
        match self.sender() {
            // The interface may have gone down: then the frame is lost, as it is in Lunatik. There one that is too long would be sent in pieces, if it is of TCP.
            Ok(sender) => {
                let sent = sender.send(interface, frame);
                if sent == Err(Errno::EMSGSIZE) {
                    self.count();
                }
            }
            Err(problem) => {
                self.count();
                return Forwarded::Done(problem);
            }
        }
        Forwarded::Done(None)
    }

    fn count(&self) {
        self.lost.fetch_add(1, Ordering::Relaxed);
    }

    /// The socket, or why there is none, if nobody has been told yet.
    fn sender(&mut self) -> Result<&FrameSender, Option<Message>> {
        if self.sender.is_none() {
            match FrameSender::open(self.netns.as_deref()) {
                Ok(sender) => self.sender = Some(sender),
                Err(error) => {
                    let is_first = !std::mem::replace(&mut self.has_told, true);
                    let message = || Text::whole(format!("copies of packets cannot be sent: {error}").into());
                    let failure =
                        is_first.then(|| Message::Error(Failure { message: message(), traceback: vec![] }));
                    return Err(failure);
                }
            }
        }
        self.sender.as_ref().ok_or(None)
    }
}

/// The number of an interface, and the frame for it. `None` where the copy was too long for an event, which has none of it then, or not all.
fn frame(notice: &Notice) -> Option<(u32, &[u8])> {
    let [Datum::Integer(interface), Datum::Text(frame)] = notice.values.as_slice() else { return None };
    let is_whole = notice.line.cut.is_none() && !frame.is_empty();
    Some((u32::try_from(*interface).ok()?, frame.as_slice())).filter(|_| is_whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notice(name: &str, values: Vec<Datum>, cut: Option<usize>) -> Notice {
        Notice { name: name.into(), values, line: Text { bytes: Vec::new(), cut } }
    }

    fn forwarding(lost: &Arc<AtomicU64>) -> Forwarding {
        let load = moonhook_load::Options { root: Some("/".into()), ..Default::default() };
        Forwarding::of(&load, Some("no such namespace"), Arc::clone(lost)).unwrap()
    }

    #[test]
    fn scripts_of_moonhooks_own_forward_nothing() {
        assert!(Forwarding::of(&moonhook_load::Options::default(), None, Arc::default()).is_none());
    }

    #[test]
    fn other_events_are_not_its_own() {
        let lost = Arc::default();
        let other = notice("forward", vec![Datum::Integer(1), Datum::Text(vec![1])], None);
        assert!(matches!(forwarding(&lost).take(&other), Forwarded::Other));
        assert_eq!(lost.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn what_is_not_whole_is_counted() {
        let lost = Arc::default();
        let mut forwarding = forwarding(&lost);
        for (values, cut) in [
            (vec![], None),
            (vec![Datum::Integer(1), Datum::Text(vec![])], None),
            (vec![Datum::Integer(1), Datum::Text(vec![1])], Some(7)),
            (vec![Datum::Integer(-1), Datum::Text(vec![1])], None),
            (vec![Datum::Text(vec![1]), Datum::Integer(1)], None),
        ] {
            let taken = forwarding.take(&notice(FORWARDED, values.clone(), cut));
            assert!(matches!(taken, Forwarded::Done(None)), "{values:?}");
        }
        assert_eq!(lost.load(Ordering::Relaxed), 5);
    }

    #[test]
    fn that_nothing_can_be_sent_is_said_once() {
        let lost = Arc::default();
        let mut forwarding = forwarding(&lost);
        let whole = notice(FORWARDED, vec![Datum::Integer(1), Datum::Text(vec![1])], None);
        let Forwarded::Done(Some(Message::Error(failure))) = forwarding.take(&whole) else {
            panic!("there is no such namespace");
        };
        assert!(failure.message.lossy().starts_with("copies of packets cannot be sent: "));
        assert!(matches!(forwarding.take(&whole), Forwarded::Done(None)));
        assert_eq!(lost.load(Ordering::Relaxed), 2);
    }
}
