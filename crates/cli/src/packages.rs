//! Packages of programs, for scripts that are loaded.

use crate::options::absolute;
use moonhook_engine::Folders;
use moonhook_load::Packages;
use moonhook_packages::Sources;
use std::path::PathBuf;
use std::sync::Arc;

/// Where packages are.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct PackageOptions {
    /// A folder with packages of programs that chains of eCLAT call: folders of the packages' names, or checkouts; can be given several times
    #[arg(long, value_name = "DIR")]
    packages: Vec<PathBuf>,
    /// A name for several packages, which are searched in their order: `--alias mynet=hike_default,meter`
    #[arg(long, value_name = "NAME=PACKAGE,…", value_parser = alias)]
    alias: Vec<(String, Vec<String>)>,
}

fn alias(text: &str) -> Result<(String, Vec<String>), String> {
    let (name, packages) = text.split_once('=').ok_or("not NAME=PACKAGE,…")?;
    let packages: Vec<String> = packages.split(',').map(|package| package.trim().to_string()).collect();
    match name.is_empty() || packages.iter().any(String::is_empty) {
        true => Err("not NAME=PACKAGE,…".to_string()),
        false => Ok((name.to_string(), packages)),
    }
}

impl PackageOptions {
    /// Where scripts find their programs.
    pub fn folders(&self) -> Arc<dyn Packages> {
        PackageOptions::of(self.sources())
    }

    pub fn sources(&self) -> Sources {
        let folders = self.packages.iter().map(|folder| absolute(folder)).collect();
        Sources { folders, aliases: self.alias.clone() }
    }

    /// The programs that lie there.
    pub fn of(sources: Sources) -> Arc<dyn Packages> {
        Arc::new(Folders::new(sources))
    }
}
