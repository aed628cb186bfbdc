//! Packages of programs, for scripts that are loaded.

use moonhook_diagnostic::Diagnostic;
use moonhook_link::Object;
use moonhook_load::Packages;
use std::path::PathBuf;
use std::sync::Arc;

/// Folders with packages.
#[derive(Debug)]
pub struct Folders(pub Vec<PathBuf>);

impl Packages for Folders {
    fn object(&self, package: &str, program: &str) -> Result<Arc<Object>, Box<Diagnostic>> {
        for folder in &self.0 {
            let path = folder.join(package).join(format!("{program}.bpf.o"));
            if let Ok(bytes) = std::fs::read(&path) {
                let object = Object::read(&bytes, &path.to_string_lossy());
                return object.map(Arc::new).map_err(|error| Box::new(error.diagnostic()));
            }
        }
        let message = format!("there is no program '{program}' of the package '{package}'");
        Err(Box::new(
            Diagnostic::new("MH0312", message).help("name the folder that has them: --packages FOLDER"),
        ))
    }
}
