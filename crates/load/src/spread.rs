//! Handlers that are for some of the interfaces only: loaders of eCLAT, where scripts attach them to different ones.

use crate::Script;
use crate::registry::Registration;
use moonhook_hook::{Place, Point, XDP};
use std::sync::Arc;

/// Handlers as programs are made of them: where interfaces differ, those that are for all are at each by its name, for an interface has one
/// program. Where all have the same handlers, in the same order, none has a name, and there is one program.
pub(crate) fn spread(
    registered: Vec<Registration>,
    interfaces: &[String],
    scripts: &mut [Script],
) -> Vec<Registration> {
    if !registered.iter().any(|registration| matches!(registration.point.place, Place::Named(_))) {
        return registered;
    }
    let apart = are_apart(&registered, interfaces);
    // Where what is made of each begins.
    let (mut all, mut begins) = (Vec::new(), Vec::new());
    for registration in registered {
        begins.push(all.len());
        if apart { at_each(&mut all, registration, interfaces) } else { at_all(&mut all, registration) }
    }
    begins.push(all.len());
    for script in scripts {
        script.handlers = begins[script.handlers.start]..begins[script.handlers.end];
    }
    all
}

/// Whether two interfaces have different handlers. One that has none is one that the person has named and scripts have not: then what scripts
/// say does not count.
fn are_apart(registered: &[Registration], interfaces: &[String]) -> bool {
    let at = |interface: &String| -> Vec<_> {
        let is_at = |point: &Point| match &point.place {
            Place::Named(name) => **name == **interface,
            place => point.hook == &XDP && *place == Place::Interface,
        };
        let its = registered.iter().filter(|registration| is_at(&registration.point));
        its.map(|registration| registration.function.to_pointer()).collect()
    };
    let lists: Vec<_> = interfaces.iter().map(at).collect();
    lists.iter().all(|list| !list.is_empty()) && lists.windows(2).any(|pair| pair[0] != pair[1])
}

fn at_each(all: &mut Vec<Registration>, registration: Registration, interfaces: &[String]) {
    let point = &registration.point;
    if point.hook != &XDP || point.place != Place::Interface {
        all.push(registration);
        return;
    }
    let at = |name: &String| point.moved_to(Place::Named(Arc::from(name.as_str())));
    all.extend(interfaces.iter().map(|name| registration.moved_to(at(name))));
}

/// Adds it for all interfaces, once.
fn at_all(all: &mut Vec<Registration>, registration: Registration) {
    if !matches!(registration.point.place, Place::Named(_)) {
        all.push(registration);
        return;
    }
    let is_it = |known: &Registration| known.function.to_pointer() == registration.function.to_pointer();
    if !all.iter().any(is_it) {
        all.push(registration.moved_to(registration.point.moved_to(Place::Interface)));
    }
}
