//! Building a projection's tables anew in another store, from the first event on, and comparing them row by row with
//! those that are read: what shows that the live tables are what the log says, whatever happened to them since.
//!
//! Must not write to the store that is examined, nor know which database either is.

mod build;
mod compare;

pub use compare::{Compared, DIFFERENCES_LISTED_MAX, Difference};

use crate::{Progress, ToolError};
use build::Building;
use charter_events::{Offset, Timestamp};
use charter_store::{Generation, Store, TableStore, Target};
use charter_tables::Projection;
use std::collections::BTreeSet;

/// How often live tables that go on meanwhile are followed before their digest alone is compared.
const FOLLOWED_MAX: usize = 5;

/// A projection that was built anew.
#[derive(Debug, Clone)]
pub struct Rebuilt {
    /// Its name.
    pub projection: &'static str,
    /// The version of its tables.
    pub version: u32,
    /// The last event in it.
    pub up_to: Offset,
    /// How many rows it has.
    pub rows: u64,
    /// The digest of its rows, whatever their order.
    pub digest: [u8; 32],
    /// The generation it was made as, in the fresh store.
    pub generation: u32,
    /// How it compares with the tables that are read.
    pub compared: Compared,
}

/// Builds a projection anew in a fresh store, up to where the live tables have come, and compares the two. Where none
/// are read, or those of another version, it is built up to the log's end and compared with nothing.
///
/// `live` may go on meanwhile: it is followed, and after a few times only the digests are compared, which are read at
/// one moment. The new generation is indexed and read in the fresh store, so that people can look at it with SQL.
///
/// # Errors
/// [`ToolError::Store`]; [`ToolError::Fold`] for an event that can't be folded, or that the projection can't take;
/// [`ToolError::OtherLog`] when the live tables come from another history than the log's.
pub async fn rebuild(
    live: &dyn Store,
    fresh: &dyn Store,
    projection: &'static dyn Projection,
    now: Timestamp,
    mut progress: impl FnMut(Progress) + Send,
) -> Result<Rebuilt, ToolError> {
    // Events are skipped rarely, and which ones is known only at the log's end: so at first none is.
    let mut skipped = BTreeSet::new();
    let (building, compared) = loop {
        let mut building = Building::begin(live, fresh, projection, now, skipped.clone()).await?;
        let built = build(live, fresh, &mut building, &mut progress).await;
        let skips = building.all_skips(live).await?;
        if skips == skipped {
            break (building, built?);
        }
        fresh.drop_generation(projection.spec().name, building.target().number).await?;
        skipped = skips;
    };
    let target = building.target();
    fresh.index_generation(target).await?;
    fresh.activate_generation(target, active(fresh, target.spec.name).await?.map(|one| one.number)).await?;
    let (up_to, rows) = digest(fresh, target).await?;
    Ok(Rebuilt {
        projection: target.spec.name,
        version: target.spec.version,
        up_to,
        rows: rows.rows(),
        digest: rows.finish(),
        generation: target.number,
        compared,
    })
}

/// Builds the tables and compares them with those that are read, if they can be compared.
async fn build(
    live: &dyn Store,
    fresh: &dyn Store,
    building: &mut Building,
    progress: &mut (impl FnMut(Progress) + Send),
) -> Result<Compared, ToolError> {
    let spec = building.target().spec;
    match active(live, spec.name).await? {
        Some(read) if read.version == spec.version => {
            let target = Target { spec, number: read.number };
            follow(live, fresh, target, building, progress).await
        }
        other => {
            let head = live.head().await?;
            building.go_on(live, fresh, head.offset, progress).await?;
            Ok(match other {
                Some(read) => Compared::OtherVersion { live: read.version },
                None => Compared::NothingRead,
            })
        }
    }
}

/// Brings the new tables to where the live ones are, and compares.
async fn follow(
    live: &dyn Store,
    fresh: &dyn Store,
    target: Target,
    building: &mut Building,
    progress: &mut (impl FnMut(Progress) + Send),
) -> Result<Compared, ToolError> {
    for _ in 0..FOLLOWED_MAX {
        let at = generation(live, target).await?.checkpoint;
        let reached = building.go_on(live, fresh, at.offset, progress).await?;
        if reached.offset != at.offset || reached.hash != at.hash {
            let projection = target.spec.name;
            return Err(ToolError::OtherLog(format!(
                "the tables of `{projection}` stand at offset {} with another hash than the log has there",
                at.offset
            )));
        }
        let compared = compare::rows((live, target), (fresh, building.target())).await?;
        if generation(live, target).await?.checkpoint == at {
            return Ok(compared);
        }
    }
    // They never stood still: the digest is read at one moment.
    let (at, of_live) = digest(live, target).await?;
    building.go_on(live, fresh, at, progress).await?;
    let (_, of_fresh) = digest(fresh, building.target()).await?;
    Ok(if of_live == of_fresh { Compared::Equal } else { Compared::DigestDiffers })
}

async fn digest(
    store: &dyn TableStore,
    target: Target,
) -> Result<(Offset, charter_tables::RowsDigest), ToolError> {
    let all = store.digest_rows(&[target]).await?;
    all.into_iter().next().map(|(at, digest)| (at.offset, digest)).ok_or_else(|| gone(target))
}

/// The generation of a projection that is read.
async fn active(store: &dyn TableStore, projection: &str) -> Result<Option<Generation>, ToolError> {
    let all = store.generations().await?;
    Ok(all.into_iter().find(|one| one.projection == projection && one.active))
}

async fn generation(store: &dyn TableStore, target: Target) -> Result<Generation, ToolError> {
    let all = store.generations().await?;
    let meant = |one: &Generation| one.projection == target.spec.name && one.number == target.number;
    all.into_iter().find(meant).ok_or_else(|| gone(target))
}

fn gone(target: Target) -> ToolError {
    let Target { spec, number } = target;
    ToolError::OtherLog(format!("generation {number} of `{}` was removed meanwhile", spec.name))
}
