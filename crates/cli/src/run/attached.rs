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
        let Ok(text) = moonhook_eclat::defined(text, defines, &title) else { continue };
        let Ok(chains) = moonhook_eclat::read(&text, &title) else { continue };
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

#[cfg(test)]
mod tests {
    use super::*;

    fn found(lines: &str) -> Result<Attached, CliError> {
        let folder = tempfile::tempdir().expect("there is room");
        let script = folder.path().join("a.eclat");
        let text = format!("from loaders.basic import a, b\n{lines}\n");
        std::fs::write(&script, text).expect("there is room");
        let defines = [("DEV".to_string(), "eth7".to_string())];
        find(&[script, folder.path().join("none.eclat"), "b.lua".into()], &defines)
    }

    #[test]
    fn scripts_say_where_they_are_attached() {
        let attached = found(
            "a.attach('DEV', 'xdpgeneric')\nb.attach('eth1', 'xdpgeneric')\na.attach(DEV, 'xdpgeneric')",
        );
        let interfaces = ["eth7", "eth1"].map(String::from).to_vec();
        let expected = Attached { interfaces, mode: Some(RequestedMode::Generic) };
        assert_eq!(attached.expect("it is fine"), expected);
        assert_eq!(found("").expect("it is fine"), Attached::default());
        assert_eq!(found("what is this").expect("loading it tells"), Attached::default());
    }

    #[test]
    fn a_script_has_one_mode_and_no_cards() {
        for lines in ["a.attach('x', 'xdp')\nb.attach('x', 'xdpdrv')", "a.attach('x', 'xdpoffload')"] {
            let error = found(lines).expect_err(lines);
            assert_eq!(error.code(), "MH0036");
            assert!(error.diagnostic().help.is_some_and(|help| help.contains("--mode")));
        }
    }
}
