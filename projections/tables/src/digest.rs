//! The digest of a projection's rows, whatever order they are read in: by it two builds are compared.

use crate::rows::{Row, Value};
use sha2::{Digest, Sha256};

/// The sum, modulo 2^256, of the hashes of all rows, and how many there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RowsDigest {
    sum: [u8; 32],
    rows: u64,
}

impl RowsDigest {
    /// Adds a row of a table.
    pub fn add(&mut self, table: &str, row: &Row) {
        let mut hash = Sha256::new();
        bytes(&mut hash, table.as_bytes());
        for value in row {
            match value {
                Value::Null => hash.update([0]),
                Value::Uuid(id) => {
                    hash.update([1]);
                    hash.update(id.as_bytes());
                }
                Value::Text(text) => {
                    hash.update([2]);
                    bytes(&mut hash, text.as_bytes());
                }
                Value::Int(number) => {
                    hash.update([3]);
                    hash.update(number.to_be_bytes());
                }
                Value::Bool(truth) => hash.update([4, u8::from(*truth)]),
                Value::Bytes(all) => {
                    hash.update([5]);
                    bytes(&mut hash, all);
                }
            }
        }
        let mut carry = 0_u16;
        for (sum, byte) in self.sum.iter_mut().rev().zip(hash.finalize().iter().rev()) {
            carry += u16::from(*sum) + u16::from(*byte);
            *sum = carry.to_be_bytes()[1];
            carry >>= 8;
        }
        self.rows = self.rows.saturating_add(1);
    }

    /// How many rows were added.
    pub const fn rows(&self) -> u64 {
        self.rows
    }

    /// The digest.
    pub fn finish(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        hash.update(self.rows.to_be_bytes());
        hash.update(self.sum);
        hash.finalize().into()
    }
}

fn bytes(hash: &mut Sha256, bytes: &[u8]) {
    hash.update((bytes.len() as u64).to_be_bytes());
    hash.update(bytes);
}
