//! Handlers that run in this process: packets that netfilter hands to it, one after another.

use mlua::{AnyUserData, Function, MultiValue, Value};
use moonhook_control::Control;
use moonhook_hook::{Point, QUEUE};
use moonhook_load::Queued;
use moonhook_records::{Failure, Message, Text};
use moonhook_user::{Changes, Skbs, Waiting};

/// The verdict of handlers which say nothing against a packet.
const ACCEPT: i32 = 1;

/// Verdicts there are (`NF_MAX_VERDICT`, include/uapi/linux/netfilter.h): other numbers accept.
const VERDICTS: std::ops::RangeInclusive<i64> = 0..=5;

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
        let skb = skbs.make(packet).map_err(failed)?;
        let mut verdict = Ok(ACCEPT);
        for (_, handler) in self.handlers.iter().filter(|(known, _)| known == point) {
            verdict = call(control, handler, &skb, decision);
            if !matches!(verdict, Ok(ACCEPT)) {
                break;
            }
        }
        decision.changes = skbs.end(&skb, packet).map_err(failed)?;
        verdict
    }
}

fn call(
    control: &Control,
    handler: &Function,
    skb: &AnyUserData,
    decision: &mut Decision,
) -> Result<i32, Failure> {
    let arguments = MultiValue::from_iter([Value::UserData(skb.clone())]);
    let (results, printed) = control.limited(handler, arguments);
    decision.messages.extend(printed.into_iter().map(|line| Message::Print(Text::whole(line))));
    let results = results.map_err(|error| Failure {
        message: Text::whole(error.message.into_bytes()),
        traceback: error.traceback,
    })?;
    let mut results = results.into_iter();
    let verdict = integer(control, results.next()).unwrap_or(0);
    match results.next() {
        None | Some(Value::Nil) => {}
        other => decision.mark = Some(integer(control, other).unwrap_or(0) as u32),
    }
    let verdict = if VERDICTS.contains(&verdict) { verdict as i32 } else { ACCEPT };
    match QUEUE.verdict(verdict) {
        Some(_) => Ok(verdict),
        None => Err(failed(format!("handler returned {verdict}, expected a verdict"))),
    }
}

/// What `lua_tointeger` makes of a result (Lua manual § 4.6).
fn integer(control: &Control, value: Option<Value>) -> Option<i64> {
    control.lua().coerce_integer(value?).ok().flatten()
}

fn failed(problem: impl std::fmt::Display) -> Failure {
    Failure { message: Text::whole(problem.to_string().into_bytes()), traceback: Vec::new() }
}
