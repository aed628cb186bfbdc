//! Handlers of netfilter that run at tc: there packets can be written, and their marks be set.
//!
//! `PRE_ROUTING` becomes tc's ingress and `POST_ROUTING` its egress, where the handlers of all priorities are one program, in netfilter's order.
//! Handlers at other points stay where they are, and may only do what netfilter's programs can.

use super::needs::{Found, Need, Wish, of_handler};
use crate::Script;
use crate::error::LoadError;
use crate::registry::Registration;
use mlua::Function;
use moonhook_hook::{Family, Hook, NetfilterPlace, Place, Point, TC_EGRESS, TC_INGRESS, can_queue};
use moonhook_snapshot::Snapshot;

/// A place of netfilter whose handlers run at tc.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MovedPlace {
    /// As the script has it.
    pub point: Point,
    /// Of every interface that the script is run on.
    pub hook: &'static Hook,
}

impl MovedPlace {
    /// Where its handlers run, and why, in a few words.
    pub fn text(&self) -> String {
        format!("{} runs at {} as asked for", self.point, self.hook.name)
    }
}

/// Points of netfilter, by their names, and what has their packets at tc.
const HOOKS: [(&str, &Hook); 2] = [("PRE_ROUTING", &TC_INGRESS), ("POST_ROUTING", &TC_EGRESS)];

/// A handler that is to be moved.
struct Moving {
    place: NetfilterPlace,
    hook: &'static Hook,
    /// Of which families it gets packets.
    families: Vec<Family>,
    uses_connections: bool,
    registration: Registration,
}

/// Makes handlers for tc of those that were registered and have a place there; the snapshot is of all of them. Gives the places that they had.
///
/// # Errors
/// `Verdict`; `NotAtTc` where a handler does what neither tc nor, elsewhere, netfilter can.
pub(crate) fn move_to_tc(
    snapshot: &Snapshot,
    registered: &mut Vec<Registration>,
    scripts: &mut [Script],
) -> Result<Vec<MovedPlace>, LoadError> {
    let plans: Vec<_> =
        snapshot.handlers.iter().map(|handler| plan(snapshot, handler)).collect::<Result<_, _>>()?;
    let mut moved = Vec::new();
    let mut left = Vec::new();
    let mut all = std::mem::take(registered).into_iter().zip(plans);
    for script in scripts {
        let begin = left.len();
        let mut moving: Vec<Moving> = Vec::new();
        for (registration, plan) in all.by_ref().take(script.handlers.len()) {
            match plan {
                None => left.push(registration),
                Some((place, hook, uses_connections)) => {
                    note(&mut moved, MovedPlace { point: registration.point.clone(), hook });
                    let families = vec![place.family];
                    moving.push(Moving { place, hook, families, uses_connections, registration });
                }
            }
        }
        for one in in_order(moving) {
            left.push(one.handler().map_err(|error| LoadError::State { reason: error.to_string() })?);
        }
        script.handlers = begin..left.len();
    }
    left.extend(all.map(|(registration, _)| registration));
    *registered = left;
    Ok(moved)
}

/// Where a handler is, which hook it is moved to, and whether it needs connections.
type Plan = Option<(NetfilterPlace, &'static Hook, bool)>;

fn plan(snapshot: &Snapshot, handler: &moonhook_snapshot::Handler) -> Result<Plan, LoadError> {
    let Place::Netfilter(place) = handler.point.place else { return Ok(None) };
    if !can_queue(handler.point.hook) {
        return Ok(None);
    }
    let hook = HOOKS.iter().find(|(point, _)| *point == place.point()).map(|(_, hook)| *hook);
    let refused = |Need { what, place: line, .. }| LoadError::NotAtTc {
        what,
        point: hook.is_none().then(|| place.point()),
        place: line.map(Box::new),
    };
    match of_handler(snapshot, handler.written, hook.is_none(), |wish| hook.is_none() || !wish.is_at_tc()) {
        Found::Never { verdict, place } => {
            return Err(LoadError::Verdict { verdict, place: place.map(Box::new) });
        }
        Found::Need(need) => return Err(refused(need)),
        Found::Nothing | Found::Forwards(_) => {}
    }
    let Some(hook) = hook else { return Ok(None) };
    if place.defragments {
        return Err(refused(Need {
            what: "wants fragments to be put together".to_string(),
            place: None,
            is_of_copies: false,
        }));
    }
    let connections = of_handler(snapshot, handler.written, false, |wish| wish == Wish::ConnectionMark);
    Ok(Some((place, hook, matches!(connections, Found::Need(_)))))
}

fn note(moved: &mut Vec<MovedPlace>, place: MovedPlace) {
    if !moved.contains(&place) {
        moved.push(place);
    }
}

/// Handlers in the order in which netfilter asks them: by priority, and those of one place as they are. Where both families have the same ones,
/// each of them stands for both.
fn in_order(mut moving: Vec<Moving>) -> Vec<Moving> {
    moving.sort_by_key(|one| (one.hook.name, one.place.family as i32, one.place.priority));
    let mut all: Vec<Moving> = Vec::new();
    for (_, hook) in HOOKS {
        let (its, others) = moving.into_iter().partition::<Vec<_>, _>(|one| one.hook == hook);
        moving = others;
        let (ipv4, ipv6): (Vec<_>, Vec<_>) =
            its.into_iter().partition(|one| one.place.family == Family::Ipv4);
        let same = ipv4.len() == ipv6.len() && ipv4.iter().zip(&ipv6).all(|(one, other)| one.is_twin(other));
        if same {
            all.extend(ipv4.into_iter().map(|one| Moving { families: Family::ALL.to_vec(), ..one }));
        } else {
            all.extend(ipv4.into_iter().chain(ipv6));
        }
    }
    all
}

impl Moving {
    /// Whether the other one does the same with the other family's packets.
    fn is_twin(&self, other: &Moving) -> bool {
        let function = |one: &Moving| one.registration.written.as_ref().map(Function::to_pointer);
        function(self) == function(other)
            && NetfilterPlace { family: self.place.family, ..other.place } == self.place
    }

    /// The handler for tc.
    fn handler(self) -> mlua::Result<Registration> {
        let Registration { function, written, maker, given, .. } = self.registration;
        let written = written.unwrap_or(function);
        let make: Function = match &maker {
            Some(maker) => maker.get("tc")?,
            None => return Err(mlua::Error::runtime("the script has nothing that makes handlers for tc")),
        };
        let [ipv4, ipv6] = Family::ALL.map(|family| self.families.contains(&family));
        let mark =
            self.place.mark.map_or(mlua::Value::Boolean(false), |mark| mlua::Value::Integer(mark.into()));
        let function = make.call((&written, ipv4, ipv6, mark, self.uses_connections))?;
        Ok(Registration {
            point: Point::at_interface(self.hook),
            function,
            written: Some(written),
            maker,
            given,
        })
    }
}
