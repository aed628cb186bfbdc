//! The script's programs in their hooks: a link each.

use crate::pin_files::point_of;
use crate::{Options, SessionError};
use moonhook_engine::{Entry, Kernel, timed};
use moonhook_hook::{Place, Point};
use moonhook_install::{InstallError, Link, Mode};
use std::os::fd::OwnedFd;
use std::path::PathBuf;

/// All programs of a script, attached. Dropping it takes those out of their hooks that are not pinned.
pub struct Attachments {
    /// None where the script has no handlers for the kernel.
    links: Vec<Link>,
    /// What was attached to interfaces that are gone, and was said to be.
    gone: Vec<Point>,
}

/// What points were called.
pub struct Names {
    points: Vec<Point>,
    gone: Vec<Point>,
}

impl Attachments {
    /// Puts all programs of an object into their hooks, or none.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub fn new(kernel: &Kernel, options: &Options) -> Result<Attachments, InstallError> {
        // Links that were made before one that cannot be go with the list.
        let links = kernel.programs().map(|program| attach(kernel, program, options));
        Ok(Attachments { links: links.collect::<Result<_, _>>()?, gone: Vec::new() })
    }

    /// The links that were pinned at these paths and are attached still; `None` if there are none. The pins of others are removed.
    ///
    /// # Errors
    /// As [`Link::pinned`].
    pub fn pinned(paths: &[PathBuf], options: &Options) -> Result<Option<Attachments>, InstallError> {
        let mut links = Vec::new();
        for path in paths {
            let link = match point_of(path) {
                Some(point) => Link::pinned(path, &options.point(point), &options.target())?,
                None => None,
            };
            match link {
                Some(link) => links.push(link),
                None => drop(Link::detach_pinned(path)?),
            }
        }
        let attachments = Attachments { links, gone: Vec::new() };
        let own = attachments.interface_names(|_| true);
        if let (Some(first), Some(path)) = (own.first(), paths.first())
            && !own.iter().any(|name| options.interfaces.iter().any(|wanted| wanted == name))
        {
            return Err(InstallError::PinnedElsewhere { path: path.clone(), at: first.to_string() });
        }
        Ok((!attachments.links.is_empty()).then_some(attachments))
    }

    /// Calls the points of interfaces as programs do that are attached to those of these options; what was said to be gone is not
    /// expected to be. Gives what there was.
    pub fn rename(&mut self, options: &Options) -> Names {
        let points = self.links.iter().map(|link| link.point().clone()).collect();
        for link in &mut self.links {
            let Some(interface) = link.site().interface() else { continue };
            let name: &str = &interface.name;
            let point = match &link.point().place {
                Place::Interface => link.point().moved_to(Place::Named(name.into())),
                _ => link.point().clone(),
            };
            link.rename(options.point(point));
        }
        Names { points, gone: std::mem::take(&mut self.gone) }
    }

    /// Calls the points again as they were called.
    pub fn restore(&mut self, names: Names) {
        self.gone = names.gone;
        self.links.iter_mut().zip(names.points).for_each(|(link, point)| link.rename(point));
    }

    /// Puts the programs of another object in the place of the present ones: a hook that both have never lacks one. Hooks that are new get
    /// theirs first, and those that the object has no program for are left last. `keep` pins what has to be pinned, before a present
    /// program is replaced: nothing can fail behind that. Gives how long replacing took, in microseconds.
    ///
    /// # Errors
    /// What the kernel refuses, and of `keep`; the present programs stay, or are put back.
    pub fn update(
        &mut self,
        kernel: &Kernel,
        options: &Options,
        keep: impl FnOnce(&Attachments) -> Result<(), SessionError>,
    ) -> Result<u64, SessionError> {
        let present = self.links.len();
        let mut replacing = 0;
        let outcome = self
            .attach_new(kernel, options)
            .map_err(SessionError::from)
            .and_then(|()| keep(self))
            .and_then(|()| Ok(timed(&mut replacing, || self.replace(kernel, present))?));
        let place = |link: &Link| kernel.points().position(|point| point == link.point());
        let left: Vec<Link> = match &outcome {
            Ok(()) => self.links.extract_if(.., |link| place(link).is_none()).collect(),
            Err(_) => self.links.split_off(present),
        };
        if outcome.is_ok() {
            // As an object that is attached for the first time has them.
            self.links.sort_by_key(place);
        }
        for link in left {
            // A pin keeps its program in the hook.
            let _ = link.detach();
        }
        outcome.map(|()| replacing)
    }

    fn attach_new(&mut self, kernel: &Kernel, options: &Options) -> Result<(), InstallError> {
        for program in kernel.programs() {
            if self.links.iter().any(|link| link.point() == program.1) {
                continue;
            }
            match attach(kernel, program, options) {
                Ok(link) => self.links.push(link),
                // The script goes on at the others, as was said.
                Err(InstallError::UnknownInterface { .. }) if self.gone.contains(program.1) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Replaces the programs of the first `present` links: all of them, or none.
    fn replace(&mut self, kernel: &Kernel, present: usize) -> Result<(), InstallError> {
        let mut replaced: Vec<(usize, Option<OwnedFd>)> = Vec::new();
        for (index, link) in self.links[..present].iter_mut().enumerate() {
            let mut programs = kernel.programs();
            let Some((entry, _)) = programs.find(|(_, point)| *point == link.point()) else { continue };
            match link.update(&kernel.program, &entry.name) {
                Ok(before) => replaced.push((index, before)),
                Err(error) => {
                    for (index, before) in replaced.into_iter().rev() {
                        // What cannot be put back has another owner by now.
                        let _ = before.map_or(Ok(()), |before| self.links[index].restore(before));
                    }
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Takes the programs out of their hooks.
    ///
    /// # Errors
    /// The first that fails; the others are taken out.
    pub fn detach(&self) -> Result<(), SessionError> {
        let mut result = Ok(());
        for link in &self.links {
            result = result.and(link.detach());
        }
        Ok(result?)
    }

    /// Whether programs are in their hooks, if there are some; none is where what they were attached to is gone.
    pub fn are_attached(&self) -> bool {
        self.links.is_empty() || self.links.iter().any(Link::is_attached)
    }

    /// Whether there were programs, and what they were attached to is gone.
    pub fn are_gone(&self) -> bool {
        !self.are_attached()
    }

    /// Lets go of links that are no longer attached, as long as others are: somebody else has detached them, or their interface is gone. Gives
    /// what is to be said of each.
    pub fn take_lost(&mut self, netns: Option<&str>) -> Vec<String> {
        if !self.are_attached() {
            return Vec::new();
        }
        let lost: Vec<Link> = self.links.extract_if(.., |link| !link.is_attached()).collect();
        if lost.is_empty() {
            return Vec::new();
        }
        let all = moonhook_install::netns::interfaces(netns).unwrap_or_default();
        let complaint = |link: &Link| match link.site().interface() {
            Some(interface) if !all.contains(interface) => {
                self.gone.push(link.point().clone());
                format!(
                    "the interface '{}' is gone, and with it the program at {}",
                    interface.name,
                    link.point()
                )
            }
            _ => format!("somebody has taken the program out of {}; a reload puts it back", link.point()),
        };
        lost.iter().map(complaint).collect()
    }

    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// The names of the interfaces with commas between them, if hooks of some are among those of the script.
    pub fn interface(&self) -> Option<String> {
        self.interface_of(|_| true)
    }

    /// The same of those links that are meant.
    pub fn interface_of(&self, is_meant: impl Fn(&Link) -> bool) -> Option<String> {
        let names = self.interface_names(is_meant);
        (!names.is_empty()).then(|| names.join(","))
    }

    /// Each once.
    fn interface_names(&self, is_meant: impl Fn(&Link) -> bool) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for link in self.links.iter().filter(|link| is_meant(link)) {
            let name = link.site().interface().map(|interface| interface.name.as_str());
            names.extend(name.filter(|name| !names.contains(name)));
        }
        names
    }

    /// What the script is attached to: the interface, or whatever else it is.
    pub fn place(&self) -> String {
        match self.interface() {
            Some(names) => names,
            None => {
                let mut names: Vec<String> = self.links.iter().map(|link| link.site().name()).collect();
                names.dedup();
                names.join(", ")
            }
        }
    }

    /// What kind of thing [`Attachments::place`] is.
    pub fn kind_of_place(&self) -> &'static str {
        match (self.interface(), self.links.first()) {
            (None, Some(link)) => link.site().kind(),
            _ => "interface",
        }
    }

    /// The names of the hooks, as a person reads them.
    pub fn hooks(&self) -> String {
        self.links.iter().map(|link| link.point_found().to_string()).collect::<Vec<_>>().join(", ")
    }

    /// How the programs run of hooks with several ways.
    pub fn mode(&self) -> Option<Mode> {
        self.links.iter().find_map(Link::mode)
    }

    /// Why native mode was not to be had, if generic mode is the second choice.
    pub fn native_refused(&self) -> Option<&str> {
        self.links.iter().find_map(Link::native_refused)
    }
}

fn attach(
    kernel: &Kernel,
    (entry, point): (&Entry, &Point),
    options: &Options,
) -> Result<Link, InstallError> {
    kernel.program.attach_at(&entry.name, point, &options.target())
}
