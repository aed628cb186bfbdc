//! Handlers that run in this process: packets that netfilter hands to it, one after another.

use mlua::Function;
use moonhook_control::Control;
use moonhook_hook::Point;
use moonhook_load::{CallError, Queued};
use moonhook_records::{Failure, Message, Text};
use moonhook_user::{Changes, Refusal, Said, Skbs, Waiting};
use std::fmt::Display;

/// What handlers say of a packet.
#[derive(Debug, Default)]
pub struct Decision {
    /// `None` after an error.
    pub verdict: Option<i32>,
    pub mark: Option<u32>,
    pub changes: Changes,
    /// What they have printed, and the error.
    pub messages: Vec<Message>,
}

/// The handlers of all places.
pub(super) struct Deciders {
    handlers: Vec<(Point, Function)>,
    /// Made with the first packet.
    skbs: Option<Skbs>,
}

impl Deciders {
    pub fn new(queued: Vec<Queued>) -> Deciders {
        let handlers = queued.into_iter().map(|queued| (queued.point, queued.function)).collect();
        Deciders { handlers, skbs: None }
    }

    /// Asks the handlers of a place, in order, until one does not accept.
    pub fn decide(&mut self, control: &Control, point: &Point, packet: &Waiting) -> Decision {
        let mut decision = Decision::default();
        match self.ask(control, point, packet, &mut decision) {
            Ok(verdict) => decision.verdict = Some(verdict),
            Err(failure) => decision.messages.push(Message::Error(failure)),
        }
        decision
    }

    fn ask(
        &mut self,
        control: &Control,
        point: &Point,
        packet: &Waiting,
        decision: &mut Decision,
    ) -> Result<i32, Failure> {
        let skbs = match &self.skbs {
            Some(skbs) => skbs,
            None => self.skbs.insert(Skbs::new(control.lua()).map_err(failed)?),
        };
        let handlers = self.handlers.iter().filter(|(known, _)| known == point).map(|(_, handler)| handler);
        let call = |handler: &Function, arguments| {
            let (results, printed) = control.limited_for_packet(handler, arguments);
            decision.messages.extend(printed.into_iter().map(|line| Message::Print(Text::whole(line))));
            results
        };
        let asked = skbs.ask(handlers, packet, call).map_err(failed)?;
        decision.changes = asked.changes;
        match asked.said {
            Ok(Said { verdict, mark }) => {
                decision.mark = mark;
                Ok(verdict)
            }
            Err(Refusal::Failed(CallError { message, traceback })) => {
                Err(Failure { message: Text::whole(message.into_bytes()), traceback })
            }
            Err(Refusal::NoVerdict(number)) => {
                Err(failed(format!("handler returned {number}, expected a verdict")))
            }
        }
    }
}

fn failed(problem: impl Display) -> Failure {
    Failure { message: Text::whole(problem.to_string().into_bytes()), traceback: Vec::new() }
}
