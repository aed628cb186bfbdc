//! Objects that were compiled before.
//!
//! Of each source with its settings the cache has a note, `KEY.note`: the compiler, the files that were read with what was in them, where else there
//! are files that could be taken for these, the object. While all of that is the same, the object is what the compiler would make. Objects are named by all that they were made of: two
//! processes that write one of the same name write what the same compiler has made of the same sources, and each writes it whole.

use crate::clang::FLAGS;
use crate::error::PackageError;
use crate::include;
use crate::settings::Settings;
use moonhook_replace::replace_file;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Of what a note consists.
const FORMAT: &str = "moonhook package 2";

/// What a source is compiled with.
pub struct Key {
    /// All of it in short.
    name: String,
    /// Folders in which included files are looked for, besides those of the system.
    folders: Vec<PathBuf>,
}

/// A digest of parts, no two lists of which run into one another.
fn digest<'p>(parts: impl IntoIterator<Item = &'p [u8]>) -> String {
    let mut all = Sha256::new();
    for part in parts {
        all.update((part.len() as u64).to_le_bytes());
        all.update(part);
    }
    all.finalize().iter().take(20).map(|byte| format!("{byte:02x}")).collect()
}

impl Key {
    pub fn of(source: &Path, settings: &Settings<'_>) -> Key {
        let mut parts: Vec<&[u8]> = vec![FORMAT.as_bytes(), source.as_os_str().as_bytes()];
        parts.extend(FLAGS.iter().map(|flag| flag.as_bytes()));
        parts.extend(include::FILES.iter().flat_map(|(name, text)| [name.as_bytes(), text.as_bytes()]));
        parts.extend(settings.defines.iter().flat_map(|(name, value)| [name.as_bytes(), value.as_bytes()]));
        // Not to be taken for another definition.
        parts.push(b"includes");
        parts.extend(settings.includes.iter().map(|folder| folder.as_os_str().as_bytes()));
        let folders = source.parent().map(Path::to_path_buf).into_iter().chain(settings.includes.to_vec());
        Key { name: digest(parts), folders: folders.collect() }
    }

    /// Files that could be included in the place of those that were: what is looked for there is named by the ends of their paths. Which one the compiler takes
    /// is its business; while these are the same, it takes the same.
    pub fn candidates<'f>(&self, files: impl IntoIterator<Item = &'f Path>) -> BTreeSet<PathBuf> {
        let mut names: BTreeSet<PathBuf> = include::FILES.iter().map(|(name, _)| name.into()).collect();
        let mut folders: BTreeSet<&Path> = self.folders.iter().map(PathBuf::as_path).collect();
        for file in files {
            // Beside a file is looked first for what it includes.
            folders
                .extend(file.parent().filter(|_| self.folders.iter().any(|folder| file.starts_with(folder))));
            let parts: Vec<_> = file.components().skip(1).collect();
            names.extend((0..parts.len()).map(|start| parts[start..].iter().collect()));
        }
        let places = folders.iter().flat_map(|folder| names.iter().map(move |name| folder.join(name)));
        places.filter(|place| place.is_file()).collect()
    }

    fn note(&self, cache: &Path) -> PathBuf {
        cache.join(format!("{}.note", self.name))
    }
}

/// What is kept of one compilation.
#[derive(Debug, PartialEq, Eq)]
pub struct Note {
    pub compiler: String,
    /// Files with the digest of their content.
    pub files: Vec<(String, PathBuf)>,
    /// The digest of [`Key::candidates`].
    candidates: String,
    /// What the compiler has said.
    pub log: String,
}

impl Note {
    /// # Errors
    /// One of the files cannot be read.
    pub fn new(
        compiler: String,
        files: &[PathBuf],
        candidates: &BTreeSet<PathBuf>,
        log: String,
    ) -> Result<Note, PackageError> {
        let with_digest = |path: &PathBuf| Ok((of_file(path)?, path.clone()));
        let files = files.iter().map(with_digest).collect::<Result<_, PackageError>>()?;
        Ok(Note { compiler, files, candidates: of_paths(candidates), log })
    }

    /// The object's name, by all that it was made of.
    fn object(&self, key: &Key) -> String {
        let mut parts = vec![key.name.as_bytes(), self.compiler.as_bytes()];
        parts.extend(self.files.iter().map(|(digest, _)| digest.as_bytes()));
        format!("{}.bpf.o", digest(parts))
    }

    fn text(&self) -> Vec<u8> {
        let mut text = format!("{FORMAT}\n{}\n{}\n", self.compiler, self.candidates).into_bytes();
        for (digest, path) in &self.files {
            text.extend_from_slice(digest.as_bytes());
            text.push(b' ');
            text.extend_from_slice(path.as_os_str().as_bytes());
            text.push(b'\n');
        }
        text.push(b'\n');
        text.extend_from_slice(self.log.as_bytes());
        text
    }

    fn parse(text: &[u8]) -> Option<Note> {
        let text = std::str::from_utf8(text).ok()?;
        let (head, log) = text.split_once("\n\n")?;
        let mut lines = head.lines();
        lines.next().filter(|line| *line == FORMAT)?;
        let (compiler, candidates) = (lines.next()?.to_string(), lines.next()?.to_string());
        let file =
            |line: &str| line.split_once(' ').map(|(digest, path)| (digest.to_string(), PathBuf::from(path)));
        let files = lines.map(file).collect::<Option<_>>()?;
        Some(Note { compiler, files, candidates, log: log.to_string() })
    }

    fn is_so_still(&self, key: &Key, compiler: Option<&str>) -> bool {
        let is_same = |(digest, path): &(String, PathBuf)| of_file(path).is_ok_and(|now| now == *digest);
        let files = || self.files.iter().map(|(_, path)| path.as_path());
        compiler.is_none_or(|compiler| compiler == self.compiler)
            && self.files.iter().all(is_same)
            && of_paths(&key.candidates(files())) == self.candidates
    }
}

fn of_paths(paths: &BTreeSet<PathBuf>) -> String {
    digest(paths.iter().map(|path| path.as_os_str().as_bytes()))
}

fn of_file(path: &Path) -> Result<String, PackageError> {
    let content = fs::read(path).map_err(PackageError::file(path, "read"))?;
    Ok(digest([content.as_slice()]))
}

/// The object of that source, with the note about it, if it would be the same today. Without a compiler, the one that made it is
/// taken for today's.
pub fn look_up(cache: &Path, key: &Key, compiler: Option<&str>) -> Option<(PathBuf, Note)> {
    let note = Note::parse(&fs::read(key.note(cache)).ok()?)?;
    let object = cache.join(note.object(key));
    (object.is_file() && note.is_so_still(key, compiler)).then_some((object, note))
}

/// Puts an object into the cache.
///
/// # Errors
/// Files that cannot be read or written.
pub fn store_object(cache: &Path, key: &Key, note: &Note, made: &Path) -> Result<PathBuf, PackageError> {
    let object = cache.join(note.object(key));
    let bytes = fs::read(made).map_err(PackageError::file(made, "read"))?;
    replace_file(&object, &bytes).map_err(PackageError::file(&object, "written"))?;
    Ok(object)
}

/// Puts the note beside it, by which it is found.
///
/// # Errors
/// The file cannot be written.
pub fn store_note(cache: &Path, key: &Key, note: &Note) -> Result<(), PackageError> {
    let path = key.note(cache);
    replace_file(&path, &note.text()).map_err(PackageError::file(&path, "written"))
}

/// The files of a rule for `make`, as compilers write them: behind the colon, with `\` in front of spaces, `#` and ends of lines.
pub fn dependencies(rule: &str) -> Vec<PathBuf> {
    let rule = rule.split_once(": ").map_or("", |(_, files)| files);
    let (mut files, mut file) = (Vec::new(), String::new());
    let mut letters = rule.chars().peekable();
    while let Some(letter) = letters.next() {
        match (letter, letters.peek()) {
            ('\\', Some(' ' | '#')) | ('$', Some('$')) => file.extend(letters.next()),
            ('\\', Some('\n')) => {}
            (' ' | '\n', _) => {
                files.push(std::mem::take(&mut file));
            }
            _ => file.push(letter),
        }
    }
    files.push(file);
    files.into_iter().filter(|file| !file.is_empty()).map(PathBuf::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_of_make_are_read() {
        let files = dependencies("/t/a.o: /p/a\\ b.c /p/c\\#.h \\\n  /p/d$$.h \\\n /p/e\\f.h\n");
        let expected = ["/p/a b.c", "/p/c#.h", "/p/d$.h", "/p/e\\f.h"];
        assert_eq!(files, expected.map(PathBuf::from));
        assert!(dependencies("").is_empty());
    }

    #[test]
    fn notes_are_read_as_they_were_written() {
        let files = vec![("00ff".to_string(), PathBuf::from("/p/a b.c"))];
        let (compiler, candidates) = ("1 2 /usr/bin/clang".into(), "0f".into());
        let note = Note { compiler, files, candidates, log: "a\n\nb\n".into() };
        assert_eq!(Note::parse(&note.text()).as_ref(), Some(&note));
        for broken in [
            &b""[..],
            b"moonhook package 2\n",
            b"other\nclang\n0f\n\n",
            b"moonhook package 2\nclang\n0f\nx\n\n",
        ] {
            assert_eq!(Note::parse(broken), None);
        }
    }

    #[test]
    fn objects_are_found_while_all_is_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name);
        let (source, made) = (place("a.bpf.c"), place("made"));
        fs::write(&source, "one").unwrap();
        fs::write(&made, "object").unwrap();
        let settings = Settings { defines: &[], includes: &[], cache: folder.path() };
        let key = Key::of(&source, &settings);
        let look = |compiler| look_up(folder.path(), &key, compiler).map(|(object, note)| (object, note.log));
        assert_eq!(look(None), None);
        let candidates = key.candidates([&*source]);
        let note =
            Note::new("clang 1".into(), std::slice::from_ref(&source), &candidates, "warning\n\n".into());
        let note = note.unwrap();
        let object = store_object(folder.path(), &key, &note, &made).unwrap();
        assert_eq!(look(None), None, "without a note nothing is known of an object");
        store_note(folder.path(), &key, &note).unwrap();
        let expected = Some((object.clone(), "warning\n\n".to_string()));
        assert_eq!((look(None), look(Some("clang 1"))), (expected.clone(), expected.clone()));
        assert_eq!(look(Some("clang 2")), None);
        fs::write(&source, "two").unwrap();
        assert_eq!(look(None), None);
        fs::write(&source, "one").unwrap();
        assert_eq!(look(None), expected);
        fs::remove_file(&object).unwrap();
        assert_eq!(look(None), None);
    }

    #[test]
    fn definitions_and_folders_are_no_others() {
        let key = |defines: &[(&str, &str)], includes: &[&str]| {
            let defines: Vec<_> = defines.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
            let includes: Vec<_> = includes.iter().map(PathBuf::from).collect();
            let settings = Settings { defines: &defines, includes: &includes, cache: Path::new("/c") };
            Key::of(Path::new("/p/a.bpf.c"), &settings).name
        };
        let keys = [
            key(&[], &[]),
            key(&[("a", "b")], &[]),
            key(&[("ab", "")], &[]),
            key(&[], &["a"]),
            key(&[], &["a", "b"]),
            key(&[("a", "includes")], &[]),
        ];
        let different: std::collections::BTreeSet<_> = keys.iter().collect();
        assert_eq!(different.len(), keys.len());
        assert_eq!(key(&[("a", "b")], &["a"]), key(&[("a", "b")], &["a"]));
    }
}
