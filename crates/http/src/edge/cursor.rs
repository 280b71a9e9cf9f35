//! Cursors: where the next page of a list begins. Opaque, and authenticated: a cursor works for the list, the filter
//! and the caller it was given for, on this installation, and no other bits do.
//!
//! Layout, before base64url: version (1) ‖ list, filter and caller as SHA-256 (32) ‖ first policy version (8) ‖
//! part (4) ‖ position (8) ‖ key (0 to 1,200) ‖ HMAC-SHA-256 of all of it (32).

use super::digest;
use crate::problem::Problem;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use charter_events::{Offset, UserId};
use charter_policy::Position;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

const FORMAT: u8 = 1;
const FIXED_BYTES: usize = 1 + 32 + 8 + 4 + 8;
const KEY_BYTES_MAX: usize = 1_200;
const MAC_BYTES: usize = 32;
const CURSOR_CHARS_MAX: usize = (FIXED_BYTES + KEY_BYTES_MAX + MAC_BYTES).div_ceil(3) * 4;

/// What a cursor is bound to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CursorOf([u8; 32]);

/// A place in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cursor {
    /// The policy version the first page was answered at.
    pub(crate) first_version: Offset,
    /// In lists made of several: which of them.
    pub(crate) part: u32,
    /// The last row's position in it; 0: before its first.
    pub(crate) after: u64,
    /// In lists ordered by a text: the last row's.
    pub(crate) key: String,
}

impl CursorOf {
    /// One caller's list under one filter: the list by its path and what stands in the path's variable segments.
    pub(crate) fn new((path, segments): (&str, &[&str]), filter: &[&str], caller: UserId) -> Self {
        let of = |parts: &[&str]| digest(&parts.iter().map(|part| part.as_bytes()).collect::<Vec<_>>());
        Self(digest(&[path.as_bytes(), &of(segments), &of(filter), caller.as_uuid().as_bytes()]))
    }
}

impl Cursor {
    /// The last row's position, if there was one.
    pub(crate) fn position(&self) -> Option<Position> {
        self.after.checked_sub(1).map(Position::new)
    }

    /// A place after this position.
    pub(crate) fn at(first_version: Offset, part: u32, last: Option<Position>) -> Self {
        let after = last.map_or(0, |position| position.get().saturating_add(1));
        Self { first_version, part, after, key: String::new() }
    }

    /// A place after this text, which has at most 1,200 bytes.
    pub(crate) fn after_key(first_version: Offset, key: &str) -> Self {
        Self { key: key.to_owned(), ..Self::at(first_version, 0, None) }
    }

    pub(crate) fn seal(&self, of: CursorOf, key: &[u8; 32]) -> String {
        let mut bytes = Vec::with_capacity(FIXED_BYTES + self.key.len() + MAC_BYTES);
        bytes.push(FORMAT);
        bytes.extend(of.0);
        bytes.extend(self.first_version.get().to_be_bytes());
        bytes.extend(self.part.to_be_bytes());
        bytes.extend(self.after.to_be_bytes());
        bytes.extend(self.key.as_bytes());
        let tag = mac(key, &bytes).finalize().into_bytes();
        bytes.extend(tag);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Opens a cursor.
    ///
    /// # Errors
    /// 400 `invalid_cursor` for anything but what [`Cursor::seal`] gave for the same list, filter and caller.
    pub(crate) fn open(text: &str, of: CursorOf, key: &[u8; 32]) -> Result<Self, Problem> {
        Self::opened(text, of, key).ok_or_else(Problem::invalid_cursor)
    }

    fn opened(text: &str, of: CursorOf, key: &[u8; 32]) -> Option<Self> {
        if text.len() > CURSOR_CHARS_MAX {
            return None;
        }
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (body, tag) = bytes.split_at_checked(bytes.len().checked_sub(MAC_BYTES)?)?;
        mac(key, body).verify_slice(tag).ok()?;
        let (format, rest) = body.split_first()?;
        let (bound, rest) = rest.split_at_checked(32)?;
        if *format != FORMAT || bound != of.0.as_slice() {
            return None;
        }
        let (version, rest) = rest.split_first_chunk::<8>()?;
        let (part, rest) = rest.split_first_chunk::<4>()?;
        let (after, rest) = rest.split_first_chunk::<8>()?;
        Some(Self {
            first_version: Offset::new(u64::from_be_bytes(*version))?,
            part: u32::from_be_bytes(*part),
            after: u64::from_be_bytes(*after),
            key: std::str::from_utf8(rest).ok()?.to_owned(),
        })
    }
}

fn mac(key: &[u8; 32], bytes: &[u8]) -> Hmac<Sha256> {
    // HMAC fills a key shorter than a block up with zeros; the prefix keeps other uses of the key apart.
    let mut block = [0; 64];
    block[..32].copy_from_slice(key);
    let mut mac = Hmac::<Sha256>::new(&block.into());
    mac.update(b"charter list cursor\0");
    mac.update(bytes);
    mac
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: [u8; 32] = [7; 32];

    fn of(list: &str, filter: &str, caller: u128) -> CursorOf {
        CursorOf::new((list, &[]), &[filter], UserId::from_u128(caller))
    }

    /// Every text of up to two characters, of those that stand between others somewhere.
    fn texts() -> Vec<String> {
        let chars = ["", "\0", ":", ";", "=", "1", "a"];
        let mut texts: Vec<String> =
            chars.iter().flat_map(|a| chars.iter().map(move |b| format!("{a}{b}"))).collect();
        texts.sort();
        texts.dedup();
        texts
    }

    #[test]
    fn no_two_lists_filters_and_callers_give_a_cursor_in_common() {
        let (texts, mut seen) = (texts(), std::collections::HashMap::new());
        for one in &texts {
            for other in &texts {
                for caller in [1, 256] {
                    let caller = UserId::from_u128(caller);
                    for (list, filter) in [
                        ((one.as_str(), &[] as &[&str]), &[other.as_str()] as &[&str]),
                        ((one, &[other]), &[]),
                        (("", &[one, other]), &["a"]),
                        (("", &["a"]), &[one, other]),
                        (("a", &[]), &[one, other, ""]),
                    ] {
                        let made_of = format!("{list:?} {filter:?} {caller}");
                        let known = seen.insert(CursorOf::new(list, filter, caller).0, made_of.clone());
                        assert!(
                            known.as_ref().is_none_or(|known| *known == made_of),
                            "{known:?} and {made_of}"
                        );
                    }
                }
            }
        }
        assert!(seen.len() > 10_000, "{}", seen.len());
    }

    fn some() -> Cursor {
        Cursor::at(Offset::new(41).unwrap(), 2, Some(Position::new(9)))
    }

    #[test]
    fn a_cursor_comes_back_as_it_was() {
        let text = some().seal(of("users", "", 1), &KEY);
        assert_eq!(Cursor::open(&text, of("users", "", 1), &KEY).unwrap(), some());
        assert_eq!(some().position(), Some(Position::new(9)));
        let keyed = Cursor::after_key(Offset::ZERO, "a.b.c");
        assert_eq!(
            Cursor::open(&keyed.seal(of("keys", "", 1), &KEY), of("keys", "", 1), &KEY).unwrap(),
            keyed
        );
        assert_eq!(Cursor::at(Offset::ZERO, 0, None).position(), None);
    }

    #[test]
    fn no_other_list_filter_caller_or_installation_takes_it() {
        let text = some().seal(of("users", "a", 1), &KEY);
        for (of, key) in [
            (of("groups", "a", 1), KEY),
            (of("users", "b", 1), KEY),
            (of("users", "a", 2), KEY),
            (of("users", "a", 1), [8; 32]),
        ] {
            assert_eq!(Cursor::open(&text, of, &key).unwrap_err().code(), "invalid_cursor");
        }
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_refused() {
        let text = some().seal(of("users", "", 1), &KEY);
        for at in 0..text.len() {
            for bit in 0..8 {
                let mut bytes = text.clone().into_bytes();
                bytes[at] ^= 1 << bit;
                if let Ok(flipped) = String::from_utf8(bytes) {
                    assert!(Cursor::open(&flipped, of("users", "", 1), &KEY).is_err(), "{flipped}");
                }
            }
            assert!(Cursor::open(&text[..at], of("users", "", 1), &KEY).is_err());
        }
        assert!(Cursor::open(&format!("{text}A"), of("users", "", 1), &KEY).is_err());
        assert!(Cursor::open(&"A".repeat(100_000), of("users", "", 1), &KEY).is_err());
    }

    #[test]
    fn what_is_longer_than_any_cursor_is_not_even_decoded() {
        for size in std::iter::successors(Some(1_usize), |size| Some(size * 2)).take(21) {
            // What the longest cursor there is, and one beyond it, have room for.
            let key = "k".repeat(size);
            let text = Cursor::after_key(Offset::ZERO, &key).seal(of("keys", "", 1), &KEY);
            let opened = Cursor::open(&text, of("keys", "", 1), &KEY);
            assert_eq!(opened.is_ok(), text.len() <= CURSOR_CHARS_MAX, "{size}");
            assert!(Cursor::open(&"!".repeat(size), of("keys", "", 1), &KEY).is_err());
        }
    }
}
