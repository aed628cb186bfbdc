//! Interfaces and modes that scripts of eCLAT say themselves: `loader.attach('eth0', 'xdp')`.

use crate::CliError;
use moonhook_eclat::tree::Mode;
use moonhook_install::RequestedMode;
use std::path::PathBuf;

/// Where scripts are attached.
#[derive(Debug, Default, PartialEq)]
pub struct Attached {
    pub interfaces: Vec<String>,
    pub mode: Option<RequestedMode>,
}

/// What the scripts of eCLAT say. Those that cannot be read, or are malformed, say nothing: loading them tells why.
///
/// # Errors
/// Interfaces with different modes; a mode that there is not.
pub fn find(scripts: &[PathBuf], defines: &[(String, String)]) -> Result<Attached, CliError> {
    let mut attached = Attached::default();
    for script in scripts.iter().filter(|script| script.extension().is_some_and(|end| end == "eclat")) {
        let title = script.to_string_lossy();
        let Ok(text) = std::fs::read_to_string(script) else { continue };
        let Ok(chains) = moonhook_eclat::read(&moonhook_eclat::defined(text, defines), &title) else {
            continue;
        };
        for attachment in &chains.attachments {
            let refused = |problem| CliError::Attachment {
                script: title.to_string(),
                line: attachment.at.line,
                problem,
            };
            let mode = match attachment.mode {
                Mode::Any => RequestedMode::Auto,
                Mode::Generic => RequestedMode::Generic,
                Mode::Driver => RequestedMode::Native,
                Mode::Offload => return Err(refused("no program is put onto a network card (xdpoffload)")),
            };
            if attached.mode.is_some_and(|known| known != mode) {
                return Err(refused("a script has one mode for all its interfaces"));
            }
            attached.mode = Some(mode);
            if !attached.interfaces.contains(&attachment.device) {
                attached.interfaces.push(attachment.device.clone());
            }
        }
    }
    Ok(attached)
}
