//! Server-sent events, read: bytes in, blocks out. Owns the form of the stream; must not know what is sent.

/// The longest line taken, in bytes.
pub(crate) const LINE_BYTES_MAX: usize = charter_events::json::EVENT_JSON_BYTES_MAX + 64;

/// A line that is longer than any event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a line of over {LINE_BYTES_MAX} bytes")]
pub(crate) struct TooLong;

/// Takes a stream apart. Only the `data` of each block is kept: the rest of an event is in it.
#[derive(Debug, Default)]
pub(crate) struct Parser {
    /// The line that has not ended yet.
    line: Vec<u8>,
    data: Option<String>,
}

impl Parser {
    /// Takes the next bytes; the data of each block that ended with them.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Result<Vec<String>, TooLong> {
        let mut ended = Vec::new();
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.line.len().saturating_add(part.len()) > LINE_BYTES_MAX {
                return Err(TooLong);
            }
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                let line = std::mem::take(&mut self.line);
                self.line_ended(&line, &mut ended);
            }
        }
        Ok(ended)
    }

    fn line_ended(&mut self, line: &[u8], ended: &mut Vec<String>) {
        let text = String::from_utf8_lossy(line);
        let text = text.trim_end_matches(['\n', '\r']);
        if text.is_empty() {
            ended.extend(self.data.take());
        } else if let Some(value) = text.strip_prefix("data:") {
            let value = value.strip_prefix(' ').unwrap_or(value);
            match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_found_however_the_bytes_are_cut() {
        let text = ": a comment\n\nid: 1\nevent: a.b\ndata: {\"x\":1}\n\nid: 2\r\ndata:{\"y\":2}\r\n\r\n: heartbeat\n\ndata: z";
        for size in 1..text.len() {
            let mut parser = Parser::default();
            let mut found = Vec::new();
            for part in text.as_bytes().chunks(size) {
                found.extend(parser.take(part).unwrap());
            }
            assert_eq!(found, ["{\"x\":1}", "{\"y\":2}"], "by {size}");
        }
    }

    #[test]
    fn a_line_that_never_ends_is_refused() {
        let mut parser = Parser::default();
        let part = vec![b'x'; 64 * 1024];
        let refused = (0..LINE_BYTES_MAX / part.len() + 2).any(|_| parser.take(&part).is_err());
        assert!(refused);
    }
}
