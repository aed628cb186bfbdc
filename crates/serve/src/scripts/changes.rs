//! What clients change: scripts are loaded, replaced and stopped. Changes of one script come one after the other, and each is a task of its own: a client
//! that has gone does not leave half of it behind.

use super::claims::Claim;
use super::{Load, Replace, Scripts, parsed};
use crate::ServeError;
use crate::limits::{self, Turn, turn, within};
use crate::running::{Running, client};
use crate::spec::Spec;
use crate::spool::{Files, Source};
use moonhook_daemon::{DaemonError, Name, Reloaded, Request, Status};
use moonhook_session::SessionError;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};

impl Scripts {
    /// Runs a script, in the place of one of that name if there is one and it may be replaced; says whether it was.
    ///
    /// # Errors
    /// Anything; what ran before runs.
    pub async fn load(&self, load: Load) -> Result<bool, ServeError> {
        self.load_claimed(load, None).await
    }

    /// The same in the place of the script of which the same is said, or else under the first name that is free: `NAME`, `NAME-2`, … Gives the name, too.
    ///
    /// # Errors
    /// As [`Scripts::load`].
    pub async fn load_apart(&self, load: Load) -> Result<(Name, bool), ServeError> {
        let fits = |name: &Name| self.0.running.get(name).is_none_or(|present| present.is(&load.spec));
        let names = (1..).map(|number| load.name.numbered(number));
        let claim = self.0.claims.claim(names, &load.spec, fits);
        let name = claim.as_ref().map_or_else(|| load.name.clone(), |claim| claim.name.clone());
        let load = Load { name: name.clone(), ..load };
        Ok((name, self.load_claimed(load, claim).await?))
    }

    async fn load_claimed(&self, load: Load, claim: Option<Claim>) -> Result<bool, ServeError> {
        let scripts = self.clone();
        // A client that has gone does not leave half of a change behind.
        let done = tokio::spawn(async move {
            let name = load.name.clone();
            let done = scripts.change(&name, scripts.load_now(load)).await;
            drop(claim);
            done
        });
        done.await.map_err(|error| SessionError::Panicked { problem: error.to_string() })?
    }

    async fn load_now(&self, load: Load) -> Result<bool, ServeError> {
        let Load { name, sources, spec, replace } = load;
        let present = self.0.running.get(&name);
        let stays = present.as_ref().is_some_and(|present| match replace {
            Replace::Never => true,
            Replace::Same => !present.is(&spec),
            Replace::Any => false,
        });
        if stays {
            return Err(DaemonError::NameTaken { name, pid: None }.into());
        }
        let turn = self.turn().await?;
        let files = self.0.spool.write(&name, &sources)?;
        let Some(present) = present else {
            let started = self.start(&name, files.scripts.clone(), spec.clone(), turn).await;
            return self.keep(&name, files, &spec, started).map(|()| false);
        };
        let done = if present.is(&spec) {
            self.reload_now(&present, Some(files.scripts.clone()), turn).await.map(|_| ())
        } else {
            self.exchange(&name, &present, (files.scripts.clone(), spec.clone()), turn).await
        };
        self.keep(&name, files, &spec, done).map(|()| true)
    }

    /// Keeps the files of a script that runs.
    fn keep(
        &self,
        name: &Name,
        files: Files,
        spec: &Spec,
        done: Result<(), ServeError>,
    ) -> Result<(), ServeError> {
        match done {
            Ok(()) => self.0.spool.keep(name, files, spec),
            Err(error @ ServeError::TooLong { .. }) => {
                files.leave();
                Err(error)
            }
            error => error,
        }
    }

    /// A script with other interfaces or settings takes the place of one: between two packets, or where that cannot be, when that one has
    /// ended, which starts again if the other one is refused.
    async fn exchange(
        &self,
        name: &Name,
        present: &Arc<Running>,
        (scripts, spec): (Vec<PathBuf>, Spec),
        turn: Turn,
    ) -> Result<(), ServeError> {
        let (before, files) = present.present();
        let status: Status = parsed(present.ask(client(), Request::Status, limits::ASK).await?)?;
        if before.can_become(&spec, &status.mode) {
            let options = spec.options(&self.0.config, (name, &scripts), &present.recorder);
            present.replace(options, limits::LOAD, turn).await?;
            present.note(Some(spec), scripts);
            return Ok(());
        }
        self.end(present).await?;
        let started = self.start(name, scripts, spec, Arc::clone(&turn)).await;
        if started.is_err()
            && let Err(error) = self.start(name, files, before, turn).await
        {
            self.log_refused(name, &error);
        }
        started
    }

    /// Compiles a script again, of other texts if there are some.
    ///
    /// # Errors
    /// `NoScript`; what is wrong with the script, and the present program goes on.
    pub async fn reload(&self, name: &Name, sources: Vec<Source>) -> Result<Reloaded, ServeError> {
        let (scripts, name) = (self.clone(), name.clone());
        let done = tokio::spawn(async move {
            let work = async {
                let running = scripts.find(&name)?;
                let turn = scripts.turn().await?;
                if sources.is_empty() {
                    return scripts.reload_now(&running, None, turn).await;
                }
                let files = scripts.0.spool.write(&name, &sources)?;
                let reloaded = scripts.reload_now(&running, Some(files.scripts.clone()), turn).await;
                let outcome = reloaded.as_ref().map(|_| ()).map_err(|_| ());
                match outcome {
                    Ok(()) => scripts.0.spool.keep(&name, files, &running.present().0)?,
                    Err(()) if matches!(reloaded, Err(ServeError::TooLong { .. })) => files.leave(),
                    Err(()) => {}
                }
                reloaded
            };
            scripts.change(&name, work).await
        });
        done.await.map_err(|error| SessionError::Panicked { problem: error.to_string() })?
    }

    async fn reload_now(
        &self,
        running: &Running,
        scripts: Option<Vec<PathBuf>>,
        turn: Turn,
    ) -> Result<Reloaded, ServeError> {
        let request = Request::Reload { scripts: scripts.clone(), allow_read: Vec::new() };
        let answer = running.ask_in_turn(client(), request, limits::LOAD, Some(turn)).await?;
        if let Some(scripts) = scripts {
            running.note(None, scripts);
        }
        parsed(answer)
    }

    /// Detaches a script and forgets it.
    ///
    /// # Errors
    /// `NoScript`, `TooLong`.
    pub async fn stop(&self, name: &Name) -> Result<(), ServeError> {
        let (scripts, name) = (self.clone(), name.clone());
        let done = tokio::spawn(async move {
            let work = async {
                let running = scripts.find(&name)?;
                scripts.end(&running).await?;
                scripts.0.spool.remove(&name);
                Ok(())
            };
            scripts.change(&name, work).await
        });
        done.await.map_err(|error| SessionError::Panicked { problem: error.to_string() })?
    }

    /// Pins of it go, too.
    async fn end(&self, running: &Running) -> Result<(), ServeError> {
        match running.ask(client(), Request::Stop, limits::STOP).await {
            // It has ended by itself meanwhile.
            Ok(_) | Err(ServeError::Other(..)) => running.ended(limits::STOP).await,
            Err(error) => Err(error),
        }
    }

    /// Few scripts are compiled at a time.
    pub(super) async fn turn(&self) -> Result<Turn, ServeError> {
        turn(&self.0.limits.loads, (limits::LOAD, "scripts are being compiled")).await
    }

    /// Does what changes the script of a name when nobody else does.
    pub(super) async fn change<T>(
        &self,
        name: &Name,
        work: impl Future<Output = Result<T, ServeError>>,
    ) -> Result<T, ServeError> {
        let own = {
            let mut changing = self.0.changing.lock().unwrap_or_else(PoisonError::into_inner);
            changing.retain(|_, turns| Arc::strong_count(turns) > 1);
            Arc::clone(changing.entry(name.clone()).or_default())
        };
        let waited = within((limits::LOAD, "another change of the script"), async { Ok(own.lock().await) });
        let _own = waited.await?;
        work.await
    }
}
