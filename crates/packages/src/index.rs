//! The index of packages: a file of lines `name, git_url, tag`, or a folder in which packages lie.

use crate::error::PackageError;
use crate::sources::{check_name, is_name};
use std::fs;
use std::path::Path;

/// Where a package comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    pub url: String,
    pub tag: String,
}

/// The line of a package in an index; of several lines the first. Empty lines, and those that begin with `#`, say nothing.
///
/// # Errors
/// A file that cannot be read, the first line that is not as it should be, a package that has no line.
pub fn origin(index: &Path, package: &str) -> Result<Origin, PackageError> {
    check_name("package", package)?;
    let text = fs::read_to_string(index).map_err(PackageError::file(index, "read"))?;
    let mut all = Vec::new();
    for (number, line) in text.lines().enumerate().map(|(number, line)| (number + 1, line.trim())) {
        if !line.is_empty() && !line.starts_with('#') {
            let wrong = |problem| PackageError::Index { path: index.to_owned(), line: number, problem };
            all.push(entry(line).map_err(wrong)?);
        }
    }
    let found = all.iter().find(|(name, ..)| *name == package);
    let (_, url, tag) = found.ok_or_else(|| {
        let near = moonhook_btf::nearest(package, all.iter().map(|(name, ..)| *name));
        let near = near.into_iter().map(str::to_string).collect();
        PackageError::NoPackage { package: package.into(), searched: vec![index.to_owned()], near }
    })?;
    Ok(Origin { url: from_here(index, url), tag: tag.to_string() })
}

/// Name, address and tag of a line, or what is wrong with it.
fn entry(line: &str) -> Result<(&str, &str, &str), &'static str> {
    let parts: Vec<&str> = line.split(',').map(str::trim).collect();
    let [name, url, tag] = parts[..] else { return Err("a line has a name, an address and a tag") };
    // What begins with `-` is an option of git.
    match (is_name(name), url.is_empty() || url.starts_with('-'), tag.split('/').all(is_name)) {
        (false, ..) => Err("this is no name of a package"),
        (_, true, _) => Err("this is no address"),
        (.., false) => Err("this is no tag"),
        _ => Ok((name, url, tag)),
    }
}

/// A path without a beginning is one from the index on.
fn from_here(index: &Path, url: &str) -> String {
    match url.starts_with("./") || url.starts_with("../") {
        true => index.parent().unwrap_or(Path::new(".")).join(url).display().to_string(),
        false => url.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_or_said_to_be_wrong() {
        let folder = tempfile::tempdir().unwrap();
        let index = folder.path().join("index");
        let read = |text: &str, package: &str| {
            fs::write(&index, text).unwrap();
            origin(&index, package)
        };
        let text =
            "# all\n\nmeter, https://h/meter.git, v1.0\n info ,./info,devel/x\nmeter, https://other, v2\n";
        let meter = Origin { url: "https://h/meter.git".into(), tag: "v1.0".into() };
        assert_eq!(read(text, "meter").unwrap(), meter);
        let info = Origin { url: folder.path().join("./info").display().to_string(), tag: "devel/x".into() };
        assert_eq!(read(text, "info").unwrap(), info);
        let none = read(text, "meters").unwrap_err();
        let help = none.diagnostic().help;
        assert_eq!((none.code(), help.as_deref()), ("MH0911", Some("there is 'meter'")));
        for (line, problem) in [
            ("meter, https://h", "a line has a name, an address and a tag"),
            ("../meter, https://h, v1", "this is no name of a package"),
            ("meter, --upload-pack=x, v1", "this is no address"),
            ("meter, , v1", "this is no address"),
            ("meter, https://h, -f", "this is no tag"),
            ("meter, https://h, a/../b", "this is no tag"),
        ] {
            let error = read(&format!("\n{line}\n"), "other").unwrap_err();
            let expected = ("MH0918", format!("{}:2: {problem}", index.display()));
            assert_eq!((error.code(), error.to_string()), expected, "{line}");
        }
        assert_eq!(read(text, "a/b").unwrap_err().code(), "MH0913");
        assert_eq!(origin(&folder.path().join("gone"), "meter").unwrap_err().code(), "MH0917");
    }
}
