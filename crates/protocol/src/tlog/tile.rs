//! Tiles and entry bundles (C2SP tlog-tiles): their paths, their bytes, and proofs made from them. A tile holds 256
//! hashes of one row of the tree; every row above is eight levels higher. The last tile of a row is partial.

use std::fmt;
use std::str::FromStr;

use super::note::decimal;
use crate::Hash;
use crate::batch::{BATCH_ENCODING_BYTES, BatchHeader};
use crate::log_tree::TreeNodes;
use crate::merkle::TreeHash;

/// Hashes of a full tile, and entries of a full bundle.
pub const TILE_WIDTH: u16 = 256;
/// Levels of the tree between two rows of tiles.
pub const TILE_HEIGHT: u32 = 8;
/// The highest row that has a path.
const LEVEL_MAX: u8 = 63;
/// What every path begins with.
const ROOT_FOLDER: &str = "tile/";

/// What a path leads to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum TileRow {
    /// The entries themselves.
    Entries,
    /// Hashes: at level 0 of the leaves, at level l of the full tiles of level l − 1. 0 to 63.
    Level(u8),
}

impl TileRow {
    /// How many hashes, or entries, the row has in a tree of this size.
    pub fn count(self, size: u64) -> u64 {
        match self {
            Self::Entries => size,
            Self::Level(level) => size
                .checked_shr(u32::from(level) * TILE_HEIGHT)
                .unwrap_or(0),
        }
    }
}

/// The place of a tile or of an entry bundle, full or partial.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TilePath {
    /// Its row.
    pub row: TileRow,
    /// Its number in the row, from 0.
    pub index: u64,
    /// How many hashes, or entries, it holds: 1 to 256. 256 is a full one.
    pub width: u16,
}

impl TilePath {
    /// Number of the first hash, or entry, in its row; the largest u64 for one that no tree has.
    pub fn first(&self) -> u64 {
        self.index.saturating_mul(u64::from(TILE_WIDTH))
    }

    /// Whether a tree of this size has all of it. A partial one stays when the tree has grown over it.
    pub fn is_within(&self, size: u64) -> bool {
        let end = self.first().checked_add(u64::from(self.width));
        end.is_some_and(|end| end <= self.row.count(size))
    }

    /// The tile in its row that the tree of this size has at `index`, full or partial; `None` if it is empty.
    pub fn at(row: TileRow, index: u64, size: u64) -> Option<Self> {
        let first = index.checked_mul(u64::from(TILE_WIDTH))?;
        let left = row.count(size).checked_sub(first)?;
        let width = u16::try_from(left).map_or(TILE_WIDTH, |left| left.min(TILE_WIDTH));
        (width > 0).then_some(Self { row, index, width })
    }

    /// All tiles and entry bundles of a tree of this size, each full or as wide as it is.
    pub fn all(size: u64) -> impl Iterator<Item = Self> {
        let levels = (0..=LEVEL_MAX).map(TileRow::Level);
        let rows = std::iter::once(TileRow::Entries).chain(levels);
        rows.flat_map(move |row| (0..).map_while(move |index| Self::at(row, index, size)))
    }
}

/// The path below the log's folder, such as `tile/1/x001/x234/067.p/5`.
impl fmt::Display for TilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(ROOT_FOLDER)?;
        match self.row {
            TileRow::Entries => f.write_str("entries")?,
            TileRow::Level(level) => write!(f, "{level}")?,
        }
        let digits = self.index.to_string();
        let padded = format!("{digits:0>0$}", digits.len().next_multiple_of(3));
        let groups = padded.len() / 3;
        for group in 0..groups {
            let mark = if group + 1 < groups { "x" } else { "" };
            write!(f, "/{mark}{}", &padded[group * 3..group * 3 + 3])?;
        }
        if self.width < TILE_WIDTH {
            write!(f, ".p/{}", self.width)?;
        }
        Ok(())
    }
}

/// The text is not the path of a tile or an entry bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not the path of a tile")]
pub struct TilePathError;

impl FromStr for TilePath {
    type Err = TilePathError;

    /// Each tile has one path.
    fn from_str(text: &str) -> Result<Self, TilePathError> {
        read_path(text).ok_or(TilePathError)
    }
}

fn read_path(text: &str) -> Option<TilePath> {
    let (row, rest) = text.strip_prefix(ROOT_FOLDER)?.split_once('/')?;
    let row = if row == "entries" {
        TileRow::Entries
    } else {
        let level = u8::try_from(decimal(row)?).ok()?;
        (level <= LEVEL_MAX).then_some(TileRow::Level(level))?
    };
    let (number, width) = match rest.split_once(".p/") {
        Some((number, width)) => (number, u16::try_from(decimal(width)?).ok()?),
        None => (rest, TILE_WIDTH),
    };
    let path = TilePath {
        row,
        index: read_number(number)?,
        width,
    };
    // Widths out of range, and numbers with a group too many, are not written like this.
    let is_plain = width > 0 && path.to_string() == text;
    is_plain.then_some(path)
}

fn read_number(text: &str) -> Option<u64> {
    let digits: String = text
        .split('/')
        .map(|group| group.trim_start_matches('x'))
        .collect();
    let is_digits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_digits.then(|| digits.parse().ok())?
}

/// The tree's leaf for a header: SHA-256(0x00 ‖ encoding).
pub fn leaf(header: &BatchHeader) -> Hash {
    TreeHash::Sha256.leaf(&header.encoding())
}

/// The bytes of an entry bundle: each header's encoding, after its length as a big-endian u16.
pub fn entry_bundle<'a>(headers: impl IntoIterator<Item = &'a BatchHeader>) -> Vec<u8> {
    let length = (BATCH_ENCODING_BYTES as u16).to_be_bytes();
    let mut bytes = Vec::new();
    for header in headers {
        bytes.extend_from_slice(&length);
        bytes.extend_from_slice(&header.encoding());
    }
    bytes
}

/// The bytes of a tile.
pub fn tile_bytes(hashes: &[Hash]) -> Vec<u8> {
    hashes.iter().flat_map(|hash| hash.0).collect()
}

/// The root of the tree over these hashes: of a full tile, its hash in the row above.
///
/// # Panics
/// If there are no hashes.
pub fn subtree_root(hashes: &[Hash]) -> Hash {
    let mut layer = hashes.to_vec();
    while layer.len() > 1 {
        let pairs = layer.chunks(2).map(|pair| match pair {
            [left, right] => TreeHash::Sha256.node(left, right),
            lone => lone[0],
        });
        layer = pairs.collect();
    }
    layer[0]
}

/// A source of tiles.
pub trait TileReader {
    /// Error of reading a tile.
    type Error;

    /// The hashes of a tile: as many as its width.
    fn tile(&self, path: TilePath) -> Result<Vec<Hash>, Self::Error>;
}

/// The tree of a log of which there are tiles. [`log_tree`](crate::log_tree) makes roots and proofs from it, each from a
/// few tiles a row.
pub struct TiledTree<R> {
    reader: R,
    size: u64,
}

impl<R: TileReader> TiledTree<R> {
    /// The tree of the first `size` entries.
    pub fn new(reader: R, size: u64) -> Self {
        Self { reader, size }
    }
}

impl<R: TileReader> TreeNodes for TiledTree<R> {
    type Error = R::Error;

    const HASH: TreeHash = TreeHash::Sha256;

    fn node(&self, level: u32, index: u64) -> Result<Hash, R::Error> {
        let row = TileRow::Level((level / TILE_HEIGHT) as u8);
        let height = level % TILE_HEIGHT;
        let first = index << height;
        let width = u64::from(TILE_WIDTH);
        let path = TilePath::at(row, first / width, self.size).expect("the node is in the tree");
        let tile = self.reader.tile(path)?;
        let start = (first % width) as usize;
        Ok(subtree_root(&tile[start..start + (1 << height)]))
    }
}
