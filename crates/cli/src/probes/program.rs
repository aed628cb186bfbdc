//! A script that counts: compiled, in the kernel, and attached.

use moonhook_control::{Connection, ControlError, SharedTable, table_named};
use moonhook_diagnostic::Diagnostic;
use moonhook_engine::{EngineError, Kernel, Settings};
use moonhook_install::{Link, LogDetail, RequestedMode, Target};
use moonhook_lunatik::{Counts, Uncounted};
use moonhook_schema::Datum;
use nix::errno::Errno;
use std::sync::Arc;

/// A program and the table that it counts in.
pub struct Counter {
    table: Arc<SharedTable>,
    // In this order: what is attached goes before what it is.
    _links: Vec<Link>,
    _kernel: Kernel,
}

impl Counter {
    /// Puts the script, which has that name and text, into the kernel. It counts in its table `table`.
    ///
    /// # Errors
    /// What the script, the kernel or this process lacks.
    pub fn begin(name: &str, text: &str, table: &str) -> Result<Counter, Uncounted> {
        let settings = Settings::default();
        let loaded = with_file(name, text, |path| {
            moonhook_load::load(&[path], &settings.load).map_err(|error| refused(&error.diagnostic()))
        })?;
        let snapshot = &loaded.snapshot;
        let failed = |error: EngineError| refused(&error.diagnostic());
        let installed = Kernel::install(snapshot, &settings, LogDetail::Nothing, |_| Vec::new());
        let (compiled, kernel) = installed.map_err(failed)?;
        let connection = Connection::open(&compiled.module, &snapshot.owners, &kernel.program);
        let tables = connection.map_err(unreadable)?.tables();
        let table = Arc::clone(table_named(&tables, table).map_err(unreadable)?);
        let target = Target { interface: None, mode: RequestedMode::Auto, netns: None, folder: None };
        let attach = |(entry, point): (&moonhook_engine::Entry, _)| {
            kernel
                .program
                .attach_at(&entry.name, point, &target)
                .map_err(|error| refused(&error.diagnostic()))
        };
        let links = kernel.programs().map(attach).collect::<Result<_, _>>()?;
        Ok(Counter { table, _links: links, _kernel: kernel })
    }
}

impl Counts for Counter {
    fn all(&self) -> Result<Vec<(u32, u64)>, String> {
        let mut all = Vec::new();
        for entry in self.table.entries() {
            if let (Datum::Integer(number), Datum::Integer(count)) =
                entry.map_err(|error| error.to_string())?
            {
                all.extend(u32::try_from(number).map(|number| (number, count as u64)));
            }
        }
        Ok(all)
    }

    fn one(&self, number: u32) -> Result<u64, String> {
        match self.table.get(&Datum::Integer(i64::from(number))) {
            Ok(Datum::Integer(count)) => Ok(count as u64),
            Ok(_) => Ok(0),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// Scripts are files: one that is there meanwhile.
fn with_file<R>(
    name: &str,
    text: &str,
    work: impl FnOnce(std::path::PathBuf) -> Result<R, Uncounted>,
) -> Result<R, Uncounted> {
    let failed = |error: std::io::Error| Uncounted {
        errno: error.raw_os_error().unwrap_or(Errno::EIO as i32),
        reason: format!("no file for a script: {error}"),
    };
    let folder = tempfile::tempdir().map_err(failed)?;
    let path = folder.path().join(name).with_extension("lua");
    std::fs::write(&path, text).map_err(failed)?;
    work(path)
}

fn unreadable(error: ControlError) -> Uncounted {
    refused(&error.diagnostic())
}

/// The number that the kernel's own registration of probes has for such an error, as far as there is one.
fn refused(diagnostic: &Diagnostic) -> Uncounted {
    let errno = match diagnostic.code {
        // No such function.
        "MH0115" => Errno::ENOENT,
        // Nothing is known of the kernel's types, or it is built without probes.
        "MH0116" | "MH0117" => Errno::EOPNOTSUPP,
        // Privileges.
        "MH0501" => Errno::EPERM,
        _ => Errno::EINVAL,
    };
    let help = diagnostic.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
    Uncounted { errno: errno as i32, reason: format!("{}: {}{help}", diagnostic.code, diagnostic.message) }
}
