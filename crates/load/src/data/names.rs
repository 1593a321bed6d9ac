//! File names of a set: a path for each number, composed without system calls and without allocating.
//!
//! Names look random where those of an original do, but derive from the set's seed and the file's number. They need not
//! be stored to open a file again, to remove it, or to name a slow one.

mod items;
mod name;
mod tree;

use serde::{Deserialize, Serialize};

pub use items::ItemTree;
pub use name::FileName;
use name::LONGEST_NAME;

use crate::random::Random;

/// Files per subdirectory of a set with numbered names.
pub(crate) const FILES_PER_DIRECTORY: u64 = 1000;

/// The number of an fs_mark file includes its subdirectory, which may depend on the creation time.
const SUBDIRECTORY_SHIFT: u32 = 28;
const BONNIE_DIGITS: usize = 10;
const MAIL_DIGITS: usize = 10;
const MOST_LETTERS: u64 = 12;
/// Hexadecimal digits of the number in an fs_mark name, if the random part leaves space.
const NUMBER_DIGITS: usize = 8;

/// The path of a file within its set, by number.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(tag = "scheme", rename_all = "snake_case")]
pub enum FileNames {
    /// `0012/345`: a thousand files per subdirectory.
    #[default]
    Numbers,
    /// As in fs_mark: `00000a1f~~~~~~~~` with the number instead of a time stamp, then random letters.
    FsMark {
        /// Length of a name, including random letters.
        bytes: u64,
        /// Random letters.
        random_bytes: u64,
        /// Subdirectories; 0: all files are in the set's directory.
        subdirectories: u64,
        /// Seed of the random letters.
        seed: u64,
    },
    /// As in a source tree: distributed over directories like a kernel's files.
    Tree,
    /// As in a maildir: all in one directory, the number first.
    Maildir,
    /// As in mdtest: the items of each rank, in a tree of directories.
    Items(ItemTree),
    /// As in bonnie++: ten digits and up to twelve random letters.
    Bonnie {
        /// Whether the letters come first.
        letters_first: bool,
        /// Files per subdirectory; 0: all files are in the set's directory.
        per_subdirectory: u64,
        /// Seed of the random letters.
        seed: u64,
    },
}

impl FileNames {
    /// Longest file name that file systems support.
    pub(crate) const LONGEST: u64 = LONGEST_NAME;
    /// Maximum subdirectories with fs_mark names.
    pub(crate) const MOST_SUBDIRECTORIES: u64 = 1 << (40 - SUBDIRECTORY_SHIFT);
    /// Maximum files per directory with fs_mark names.
    pub(crate) const MOST_FS_MARK_FILES: u64 = 1 << SUBDIRECTORY_SHIFT;

    /// The file with that number; `subdirectory` applies to schemes whose numbers do not imply it.
    pub fn file(&self, number: u64, subdirectory: u64) -> u64 {
        match self {
            FileNames::FsMark { .. } => subdirectory << SUBDIRECTORY_SHIFT | number,
            FileNames::Numbers | FileNames::Tree | FileNames::Maildir => number,
            FileNames::Items(_) | FileNames::Bonnie { .. } => number,
        }
    }

    /// Writes a file's path.
    pub fn write(&self, file: u64, name: &mut FileName) {
        name.clear();
        match *self {
            FileNames::Numbers => {
                name.push_number(file / FILES_PER_DIRECTORY, 10, 4);
                name.push(b'/');
                name.push_number(file % FILES_PER_DIRECTORY, 10, 3);
            }
            FileNames::Tree => tree::write(file, name),
            FileNames::Items(items) => items.write(file, name),
            FileNames::Maildir => {
                b"cur/".iter().for_each(|byte| name.push(*byte));
                name.push_number(file, 10, MAIL_DIGITS);
                b".mail:2,S".iter().for_each(|byte| name.push(*byte));
            }
            FileNames::FsMark { .. } => self.write_fs_mark(file, name),
            FileNames::Bonnie { .. } => self.write_bonnie(file, name),
        }
    }

    fn write_fs_mark(&self, file: u64, name: &mut FileName) {
        let FileNames::FsMark { bytes, random_bytes, subdirectories, seed } = *self else { return };
        let number = file & (FileNames::MOST_FS_MARK_FILES - 1);
        if subdirectories > 0 {
            name.push_number(file >> SUBDIRECTORY_SHIFT, 16, 2);
            name.push(b'/');
        }
        let plain = bytes.saturating_sub(random_bytes) as usize;
        if plain >= NUMBER_DIGITS {
            name.push_number(number, 16, NUMBER_DIGITS);
            (NUMBER_DIGITS..plain).for_each(|_| name.push(b'~'));
        } else {
            (0..plain).for_each(|_| name.push(b'~'));
        }
        name.push_letters(&mut Random::new(seed, number), random_bytes, FS_MARK_LETTERS);
    }

    fn write_bonnie(&self, file: u64, name: &mut FileName) {
        let FileNames::Bonnie { letters_first, per_subdirectory, seed } = *self else { return };
        if let Some(subdirectory) = file.checked_div(per_subdirectory) {
            name.push_number(subdirectory, 10, 5);
            name.push(b'/');
        }
        let mut random = Random::new(seed, file);
        let letters = random.below(MOST_LETTERS + 1);
        if letters_first {
            name.push_letters(&mut random, letters, BONNIE_LETTERS);
            name.push_number(file, 16, BONNIE_DIGITS);
        } else {
            name.push_number(file, 16, BONNIE_DIGITS);
            name.push_letters(&mut random, letters, BONNIE_LETTERS);
        }
    }

    /// The file with this name in a directory listing; `None` if the name does not identify it.
    pub(crate) fn file_called(&self, subdirectory: &[u8], name: &[u8]) -> Option<u64> {
        let number = |bytes: &[u8], radix| u64::from_str_radix(std::str::from_utf8(bytes).ok()?, radix).ok();
        match self {
            FileNames::Numbers => Some(number(subdirectory, 10)? * FILES_PER_DIRECTORY + number(name, 10)?),
            FileNames::FsMark { .. } => {
                let subdirectory = if subdirectory.is_empty() { 0 } else { number(subdirectory, 16)? };
                Some(self.file(number(name.get(..NUMBER_DIGITS)?, 16)?, subdirectory))
            }
            // These are never looked up from a listing.
            FileNames::Tree | FileNames::Items(_) => None,
            FileNames::Maildir => number(name.get(..MAIL_DIGITS)?, 10),
            FileNames::Bonnie { letters_first: false, .. } => number(name.get(..BONNIE_DIGITS)?, 16),
            FileNames::Bonnie { letters_first: true, .. } => {
                number(name.get(name.len().checked_sub(BONNIE_DIGITS)?..)?, 16)
            }
        }
    }

    /// Whether names of this many files are unique. Without the number in the name the random part decides: the
    /// probability of a collision must be below 1 %.
    pub(crate) fn are_unique(&self, files: u64) -> bool {
        match *self {
            FileNames::FsMark { bytes, random_bytes, .. } if bytes < random_bytes + NUMBER_DIGITS as u64 => {
                (files as f64).powi(2) * 50.0 <= 36f64.powf(random_bytes as f64)
            }
            _ => true,
        }
    }
}

const FS_MARK_LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
const BONNIE_LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
#[cfg(test)]
mod tests {
    use super::{FileName, FileNames};

    fn called(names: &FileNames, file: u64) -> String {
        let mut name = FileName::new();
        names.write(file, &mut name);
        String::from_utf8(name.as_bytes().to_vec()).unwrap()
    }

    fn fs_mark(bytes: u64, random_bytes: u64, subdirectories: u64) -> FileNames {
        FileNames::FsMark { bytes, random_bytes, subdirectories, seed: 1 }
    }

    #[test]
    fn names_have_the_format_of_their_originals() {
        assert_eq!(called(&FileNames::Numbers, 12_345), "0012/345");
        let plain = called(&fs_mark(40, 24, 0), 0xa1f);
        assert!(plain.starts_with("00000a1f~~~~~~~~") && plain.len() == 40, "{plain}");
        assert!(plain[16..].bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit()), "{plain}");
        assert!(called(&fs_mark(40, 24, 16), fs_mark(40, 24, 16).file(7, 11)).starts_with("0b/00000007~"));
        assert_eq!(called(&fs_mark(8, 10, 0), 3).len(), 10);
        let bonnie = |letters_first| FileNames::Bonnie { letters_first, per_subdirectory: 100, seed: 2 };
        assert!(called(&bonnie(false), 345).starts_with("00003/0000000159"));
        assert!(called(&bonnie(true), 345).ends_with("0000000159"));
    }

    #[test]
    fn a_listed_name_identifies_its_file() {
        for names in [
            FileNames::Numbers,
            FileNames::Maildir,
            fs_mark(40, 24, 0),
            fs_mark(255, 0, 4000),
            FileNames::Bonnie { letters_first: false, per_subdirectory: 0, seed: 3 },
            FileNames::Bonnie { letters_first: true, per_subdirectory: 10, seed: 3 },
        ] {
            let subdirectory = if let FileNames::FsMark { subdirectories: 4000, .. } = names { 3999 } else { 0 };
            for number in [0, 1, 999, 1000, 268_435_455] {
                let file = names.file(number, subdirectory);
                let path = called(&names, file);
                let (subdirectory, name) = path.rsplit_once('/').unwrap_or(("", &path));
                assert_eq!(names.file_called(subdirectory.as_bytes(), name.as_bytes()), Some(file), "{path}");
                let mut written = FileName::new();
                names.write(file, &mut written);
                assert_eq!(written.subdirectory().unwrap_or_default(), subdirectory.as_bytes());
                assert_eq!(written.as_c_str().to_str().unwrap(), path);
            }
        }
    }

    #[test]
    fn letters_differ_from_file_to_file_and_from_seed_to_seed() {
        let letters =
            |seed, file| called(&FileNames::FsMark { bytes: 0, random_bytes: 24, subdirectories: 0, seed }, file);
        let mut all: Vec<String> = (0..10_000).map(|file| letters(1, file)).chain([letters(2, 0)]).collect();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 10_001);
    }

    #[test]
    fn short_names_that_may_collide_are_detected() {
        assert!(fs_mark(40, 24, 0).are_unique(u64::MAX) && fs_mark(8, 0, 0).are_unique(1 << 20));
        assert!(fs_mark(10, 10, 0).are_unique(1_000_000));
        assert!(!fs_mark(4, 4, 0).are_unique(1000) && !fs_mark(7, 0, 0).are_unique(2));
    }
}
