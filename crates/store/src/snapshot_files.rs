//! Snapshots as files in a folder: for every store that has a disk beside it. Owns the file's layout and its way onto
//! the disk; must not know what the body is.
//!
//! A file is `<offset, 20 digits>.snapshot`. Integers are big-endian.
//!
//! | field | form |
//! |---|---|
//! | magic | the 8 bytes `CHARTERS` |
//! | layout | u16, 1 |
//! | format of the body | u16 |
//! | code version | u8 length, and that many bytes of UTF-8 |
//! | log id | 16 bytes |
//! | offset | u64 |
//! | hash of that event | 32 bytes |
//! | length of the body | u64 |
//! | SHA-256 of the body | 32 bytes |
//! | body | to the end of the file |

use crate::{
    error::StoreError,
    limits::{SNAPSHOT_BYTES_MAX, SNAPSHOTS_KEPT},
    log::LogStore,
    snapshot::{Ignored, Loaded, Snapshot, SnapshotHeader, Wanted, mismatch},
};
use charter_events::{Hash, LogId, Offset};
use sha2::{Digest, Sha256};
use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufReader, Read, Write},
    path::{Path, PathBuf},
};
use uuid::Uuid;

const MAGIC: &[u8; 8] = b"CHARTERS";
const LAYOUT: u16 = 1;
const ENDING: &str = ".snapshot";
const UNFINISHED: &str = ".snapshot.new";
const CODE_VERSION_BYTES_MAX: usize = 64;

/// A folder of snapshots.
#[derive(Debug, Clone)]
pub struct SnapshotFiles {
    dir: PathBuf,
}

impl SnapshotFiles {
    /// Snapshots in this folder; it is made when it is first needed.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into() }
    }

    /// Makes the folder if need be, and tries whether a file can be made in it.
    ///
    /// # Errors
    /// [`StoreError::Snapshots`].
    pub fn try_folder(&self) -> Result<(), StoreError> {
        let attempt = self.dir.join(format!("{:020}{UNFINISHED}", 0));
        make_dir(&self.dir)
            .and_then(|()| create_private(&attempt))
            .and_then(|_| fs::remove_file(&attempt))
            .map_err(|source| self.unwritable(source))
    }

    fn unwritable(&self, source: io::Error) -> StoreError {
        StoreError::Snapshots { folder: self.dir.display().to_string(), source }
    }

    /// Saves as [`SnapshotStore::save`](crate::SnapshotStore::save) says, off the async threads.
    ///
    /// # Errors
    /// [`StoreError::Refused`] for a header that could never be loaded, [`StoreError::Full`],
    /// [`StoreError::Snapshots`].
    pub async fn save(&self, snapshot: Snapshot) -> Result<(), StoreError> {
        if snapshot.header.code_version.len() > CODE_VERSION_BYTES_MAX
            || snapshot.header.offset == Offset::ZERO
        {
            return Err(StoreError::Refused("a snapshot of nothing, or with too long a code version".into()));
        }
        let files = self.clone();
        blocking(move || files.write(&snapshot)).await?.map_err(|source| match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::Full,
            _ => self.unwritable(source),
        })
    }

    /// Loads as [`SnapshotStore::latest`](crate::SnapshotStore::latest) says; `log` is asked for the event named.
    ///
    /// # Errors
    /// Only what reading the log reports.
    pub async fn latest<L: LogStore + ?Sized>(&self, log: &L, wanted: &Wanted) -> Result<Loaded, StoreError> {
        let log_id = log.head().await?.log_id;
        let mut loaded = Loaded::default();
        for (offset, path) in self.newest_first() {
            if wanted.at_most.is_some_and(|most| offset > most) {
                continue;
            }
            let (file, want) = (path.clone(), wanted.clone());
            let read = blocking(move || load(&file, log_id, &want)).await?;
            let why = match read {
                Ok(snapshot) if is_anchored(log, &snapshot.header).await? => {
                    loaded.snapshot = Some(snapshot);
                    break;
                }
                Ok(_) => "its event is not in the log".to_owned(),
                Err(why) => why,
            };
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            loaded.ignored.push(Ignored { name, why });
        }
        Ok(loaded)
    }

    fn newest_first(&self) -> Vec<(Offset, PathBuf)> {
        let entries = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let mut found: Vec<_> = entries
            .filter_map(|entry| {
                let name = entry.file_name();
                let number: u64 = name.to_str()?.strip_suffix(ENDING)?.parse().ok()?;
                Some((Offset::new(number)?, entry.path()))
            })
            .collect();
        found.sort_by(|a, b| b.cmp(a));
        found
    }

    fn write(&self, snapshot: &Snapshot) -> io::Result<()> {
        make_dir(&self.dir)?;
        let number = snapshot.header.offset.get();
        let unfinished = self.dir.join(format!("{number:020}{UNFINISHED}"));
        let mut file = create_private(&unfinished)?;
        let written = file
            .write_all(&header_bytes(snapshot))
            .and_then(|()| file.write_all(&snapshot.body))
            .and_then(|()| file.sync_all());
        if let Err(error) = written {
            let _ = fs::remove_file(&unfinished);
            return Err(error);
        }
        drop(file);
        fs::rename(&unfinished, self.dir.join(format!("{number:020}{ENDING}")))?;
        File::open(&self.dir)?.sync_all()?;
        self.tidy(snapshot.header.offset, &unfinished);
        Ok(())
    }

    /// Removes what is no longer needed; what can't be removed now is removed next time.
    fn tidy(&self, saved: Offset, own: &Path) {
        let (beyond, kept): (Vec<_>, Vec<_>) =
            self.newest_first().into_iter().partition(|(offset, _)| *offset > saved);
        for (_, path) in beyond.into_iter().chain(kept.into_iter().skip(SNAPSHOTS_KEPT)) {
            let _ = fs::remove_file(path);
        }
        for entry in fs::read_dir(&self.dir).into_iter().flatten().flatten() {
            let left_over = entry.file_name().to_str().is_some_and(|name| name.ends_with(UNFINISHED));
            if left_over && entry.path() != own {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

async fn is_anchored<L: LogStore + ?Sized>(log: &L, header: &SnapshotHeader) -> Result<bool, StoreError> {
    let before = Offset::new(header.offset.get().saturating_sub(1)).unwrap_or(Offset::MAX);
    let page = log.read(before, 1).await?;
    Ok(page.first().is_some_and(|event| event.offset == header.offset && event.hash == header.hash))
}

fn header_bytes(snapshot: &Snapshot) -> Vec<u8> {
    let header = &snapshot.header;
    let mut bytes = Vec::with_capacity(256);
    bytes.extend(MAGIC);
    bytes.extend(LAYOUT.to_be_bytes());
    bytes.extend(header.format.to_be_bytes());
    bytes.push(u8::try_from(header.code_version.len()).unwrap_or(u8::MAX));
    bytes.extend(header.code_version.as_bytes());
    bytes.extend(header.log_id.as_uuid().as_bytes());
    bytes.extend(header.offset.get().to_be_bytes());
    bytes.extend(header.hash.as_bytes());
    bytes.extend(u64::try_from(snapshot.body.len()).unwrap_or(u64::MAX).to_be_bytes());
    bytes.extend(Sha256::digest(&snapshot.body));
    bytes
}

fn load(path: &Path, log_id: LogId, wanted: &Wanted) -> Result<Snapshot, String> {
    let file = File::open(path).map_err(|e| format!("it can't be opened: {e}"))?;
    let size = file.metadata().map_err(|e| format!("it can't be read: {e}"))?.len();
    let mut file = BufReader::with_capacity(256 * 1024, file);
    let (header, length, digest, header_length) = read_header(&mut file)?;
    if let Some(why) = mismatch(&header, log_id, wanted) {
        return Err(why);
    }
    if length > SNAPSHOT_BYTES_MAX || header_length.checked_add(length) != Some(size) {
        return Err("its length is not what its header says".to_owned());
    }
    let mut body = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
    file.read_to_end(&mut body).map_err(|e| format!("it can't be read: {e}"))?;
    if <[u8; 32]>::from(Sha256::digest(&body)) != digest {
        return Err("its body does not match its hash".to_owned());
    }
    Ok(Snapshot { header, body })
}

/// The header, the body's length and hash, and the header's own length.
fn read_header(from: &mut impl Read) -> Result<(SnapshotHeader, u64, [u8; 32], u64), String> {
    if &take::<8>(from)? != MAGIC {
        return Err("it is no snapshot".to_owned());
    }
    let layout = u16::from_be_bytes(take(from)?);
    if layout != LAYOUT {
        return Err(format!("its layout is {layout}, not {LAYOUT}"));
    }
    let format = u16::from_be_bytes(take(from)?);
    let [version_length] = take(from)?;
    let mut code_version = vec![0; usize::from(version_length)];
    from.read_exact(&mut code_version).map_err(cut)?;
    let code_version =
        String::from_utf8(code_version).map_err(|_| "its code version is no text".to_owned())?;
    let log_id = LogId::new(Uuid::from_bytes(take(from)?));
    let offset = Offset::new(u64::from_be_bytes(take(from)?)).ok_or("its offset is out of range")?;
    let hash = Hash::new(take(from)?);
    let length = u64::from_be_bytes(take(from)?);
    let digest = take(from)?;
    let own_length = 8 + 2 + 2 + 1 + u64::from(version_length) + 16 + 8 + 32 + 8 + 32;
    Ok((SnapshotHeader { format, code_version, log_id, offset, hash }, length, digest, own_length))
}

fn take<const N: usize>(from: &mut impl Read) -> Result<[u8; N], String> {
    let mut bytes = [0; N];
    from.read_exact(&mut bytes).map_err(cut)?;
    Ok(bytes)
}

#[expect(clippy::needless_pass_by_value, reason = "it is handed to `map_err`")]
fn cut(error: io::Error) -> String {
    format!("its header can't be read: {error}")
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, StoreError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|e| StoreError::unavailable("reading or writing a snapshot", e))
}

/// Makes a folder, and those above it, that only its owner can enter. One that exists is left as it is.
///
/// # Errors
/// What the file system says.
pub fn make_dir(dir: &Path) -> io::Result<()> {
    if dir.is_dir() {
        return Ok(());
    }
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir)
}

/// Makes or empties a file that only its owner can read.
///
/// # Errors
/// What the file system says.
pub fn create_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
