//! Upkeep of a store: interrupted stops, copies, damage and its repair, missing marks, files that others may read.

mod archive;
mod archive_killed;
mod archived_bond;
mod backup;
mod drill;
mod made;
mod mark;
mod memory;
mod private;
mod rebuild;
mod roots;
mod side_keys;
mod stop;
