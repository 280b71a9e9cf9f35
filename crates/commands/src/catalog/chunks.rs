//! Lists that are longer than one payload become several events.

/// Half of the largest payload: names and punctuation around the list, and escapes in it, fit in the other half.
const CHUNK_BYTES_MAX: usize = charter_events::registry::PAYLOAD_BYTES_MAX / 2;

/// The list in parts, in order, each of which fits one payload by the size its items say.
pub(super) fn chunks<T>(items: Vec<T>, bytes: impl Fn(&T) -> usize) -> Vec<Vec<T>> {
    let mut parts: Vec<Vec<T>> = Vec::new();
    let mut room = 0_usize;
    for item in items {
        let size = bytes(&item);
        match parts.last_mut() {
            Some(part) if size <= room => part.push(item),
            _ => {
                room = CHUNK_BYTES_MAX;
                parts.push(vec![item]);
            }
        }
        room = room.saturating_sub(size);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_keep_order_and_none_is_too_large() {
        let third = CHUNK_BYTES_MAX / 3;
        let parts = chunks((0..10).collect(), |_| third);
        assert_eq!(parts.concat(), (0..10).collect::<Vec<_>>());
        assert!(parts.iter().all(|part| part.len() <= 3), "{parts:?}");
        assert_eq!(parts.len(), 4);
        assert!(chunks(Vec::<u8>::new(), |_| 1).is_empty());
    }
}
