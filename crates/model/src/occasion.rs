//! Why a call that is quick at other times waits: what made the kernel do more than the program asked for.

/// Declares the occasions: one row each, with the variant, its name in JSON, and words that follow those of the wait.
macro_rules! occasions {
    ($($(#[$doc:meta])* $occasion:ident, $name:literal, $words:literal;)*) => {
        /// What made a call wait that did not ask for it. The names are part of the JSON contract.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Occasion {
            $($(#[$doc])* $occasion,)*
        }

        impl Occasion {
            /// All occasions.
            pub const ALL: &[Occasion] = &[$(Occasion::$occasion,)*];

            /// The name in JSON.
            pub const fn name(self) -> &'static str {
                match self { $(Occasion::$occasion => $name,)* }
            }

            /// For people.
            pub const fn words(self) -> &'static str {
                match self { $(Occasion::$occasion => $words,)* }
            }
        }
    };
}

occasions! {
    /// A read updates the access time of its inode, for which the journal needs room.
    AccessTime, "access_time", "to update an access time";
    /// A write finds no free space, and first writes all that is dirty: that may free what is reserved.
    NearlyFull, "nearly_full", "to write all dirty pages first, because the file system is nearly full";
    /// A file of a lower layer is copied before it is changed.
    CopyUp, "copy_up", "to copy the file to the overlay's upper layer";
    /// The sync of an overlay is one of the whole file system below it.
    OverlaySync, "overlay_sync", "to sync the whole file system below the overlay";
    /// A page must not change while it is written: its checksum would be wrong.
    StablePage, "stable_page", "to change a page that is being written";
    /// Blocks that were freed are discarded at a commit.
    DiscardAtCommit, "discard_at_commit", "to discard what was freed, at a commit";
}

#[cfg(test)]
mod tests {
    use super::Occasion;

    #[test]
    fn each_has_a_name_of_its_own() {
        let mut names: Vec<&str> = Occasion::ALL.iter().map(|occasion| occasion.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Occasion::ALL.len());
    }
}
