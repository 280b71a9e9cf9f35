//! Tiles: by which paths they are asked for (C2SP `tlog-tiles`), and how many hashes they hold.

use std::{fmt, str::FromStr};

/// How many hashes a full tile holds.
pub const TILE_WIDTH: u64 = 256;

/// The highest level there is: 8 · 7 bits and 8 more are the 64 of a size.
const LEVEL_MAX: u32 = 7;

/// A tile: its place and its width.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TileId {
    /// Its level, from 0 at the leaves; `None`: the entries themselves.
    pub level: Option<u32>,
    /// Its place among those of its level, from 0.
    pub index: u64,
    /// How many hashes or entries it holds: 1 to 256, less than that only where the tree ended.
    pub width: u64,
}

/// The path of no tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "no path of a tile: `<level 0-7, or entries>/<index as x001/x234/067>`, a narrow one with `.p/<1-255>` after it"
)]
pub struct InvalidTile;

impl TileId {
    /// Whether it holds all that a tile can: then it never changes, at any size of the tree.
    pub const fn is_full(&self) -> bool {
        self.width == TILE_WIDTH
    }

    /// The first leaf that it covers, and the leaf after the last.
    pub fn leaves(&self) -> Option<(u64, u64)> {
        let each = 1_u64.checked_shl(self.level.unwrap_or(0).checked_mul(8)?)?;
        let first = self.index.checked_mul(TILE_WIDTH)?;
        Some((first.checked_mul(each)?, first.checked_add(self.width)?.checked_mul(each)?))
    }
}

impl fmt::Display for TileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.level {
            Some(level) => write!(f, "{level}")?,
            None => f.write_str("entries")?,
        }
        let mut groups = vec![self.index % 1000];
        let mut rest = self.index / 1000;
        while rest > 0 {
            groups.push(rest % 1000);
            rest /= 1000;
        }
        for (place, group) in groups.iter().enumerate().rev() {
            write!(f, "/{}{group:03}", if place > 0 { "x" } else { "" })?;
        }
        if self.is_full() { Ok(()) } else { write!(f, ".p/{}", self.width) }
    }
}

impl FromStr for TileId {
    type Err = InvalidTile;

    /// Reads what stands after `tile/`. Each tile has one path: anything else than what [`fmt::Display`] writes is
    /// refused.
    fn from_str(text: &str) -> Result<Self, InvalidTile> {
        let (level, rest) = text.split_once('/').ok_or(InvalidTile)?;
        let level = match level {
            "entries" => None,
            level => Some(level.parse().ok().filter(|level| *level <= LEVEL_MAX).ok_or(InvalidTile)?),
        };
        let (groups, width) = match rest.split_once(".p/") {
            None => (rest, TILE_WIDTH),
            Some((groups, width)) => (groups, width.parse().map_err(|_| InvalidTile)?),
        };
        if !(1..=TILE_WIDTH).contains(&width) {
            return Err(InvalidTile);
        }
        let mut index: u64 = 0;
        for group in groups.split('/') {
            let digits = group.strip_prefix('x').unwrap_or(group);
            let number: u64 = digits.parse().map_err(|_| InvalidTile)?;
            index = index.checked_mul(1000).and_then(|index| index.checked_add(number)).ok_or(InvalidTile)?;
        }
        let tile = Self { level, index, width };
        if tile.to_string() == text { Ok(tile) } else { Err(InvalidTile) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tile_has_one_path() {
        let tile = |level, index, width| TileId { level, index, width };
        for (path, expected) in [
            ("0/000", tile(Some(0), 0, 256)),
            ("0/067.p/8", tile(Some(0), 67, 8)),
            ("1/x001/x234/067", tile(Some(1), 1_234_067, 256)),
            ("7/x001/000.p/255", tile(Some(7), 1_000, 255)),
            ("entries/x123/456", tile(None, 123_456, 256)),
        ] {
            assert_eq!(path.parse(), Ok(expected), "{path}");
            assert_eq!(expected.to_string(), path);
        }
        for wrong in [
            "",
            "0",
            "0/",
            "/000",
            "8/000",
            "00/000",
            "+1/000",
            "0/0",
            "0/0000",
            "0/x000/001",
            "0/001/000",
            "0/x001",
            "0/000.p/0",
            "0/000.p/256",
            "0/000.p/257",
            "0/000.p/08",
            "0/000.p",
            "0/000/",
            "data/000",
            "entries",
            "0/x018/x446/x744/x073/x709/x551/616",
            "0/-01",
            "0/000.p/1/",
            "0/000?x",
        ] {
            assert_eq!(wrong.parse::<TileId>(), Err(InvalidTile), "{wrong}");
        }
    }

    #[test]
    fn a_tile_covers_its_leaves() {
        let leaves = |path: &str| path.parse::<TileId>().unwrap().leaves();
        assert_eq!(leaves("0/001"), Some((256, 512)));
        assert_eq!(leaves("entries/001.p/4"), Some((256, 260)));
        assert_eq!(leaves("1/000.p/3"), Some((0, 768)));
        assert_eq!(leaves("7/001"), None, "beyond every log");
    }
}
