//! `/log/checkpoint`, `/log/tile`, `/log/proof`: read by a client written elsewhere.

use crate::support::Api;
use axum::{
    body::{Body, to_bytes},
    http::Request,
};
use base64::{Engine, engine::general_purpose::STANDARD};
use charter_store::{
    chain::write_record,
    merkle::{Checkpoint, InclusionText, SignedNote, VerifierKey},
};
use serde_json::{Value, json};
use signed_note::{Note, StandardVerifier, VerifierList};
use std::{cell::RefCell, collections::BTreeMap, time::Duration};
use tlog_tiles::{Error, HashReader, Tile, TileHashReader, TileReader, stored_hash_index};
use tower::ServiceExt;

/// The newest checkpoint once it has the whole log, as their reader understands it, its signature checked by them.
async fn checkpoint(api: &Api) -> tlog_tiles::Checkpoint {
    let log = api.admin("GET", "/log", Value::Null).await.ok(200);
    let key = StandardVerifier::new(log.body["verifier_key"].as_str().unwrap()).unwrap();
    let keys = VerifierList::new(vec![Box::new(key)]);
    for _ in 0..200 {
        let reply = api.admin("GET", "/log/checkpoint", Value::Null).await;
        if reply.status == 200 {
            assert_eq!(reply.header("content-type"), "text/plain; charset=utf-8");
            let note = Note::from_bytes(reply.text.as_bytes()).unwrap();
            note.verify(&keys).unwrap();
            let checkpoint = tlog_tiles::Checkpoint::from_bytes(note.text()).unwrap();
            assert_eq!(checkpoint.origin(), format!("charter/{}", api.control.log_id()));
            if checkpoint.size() == api.head().get() {
                return checkpoint;
            }
        } else {
            reply.refused(503, "checkpoint_not_made");
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("no checkpoint has the whole log");
}

/// What a tile holds.
async fn bytes(api: &Api, path: &str) -> Vec<u8> {
    let request =
        Request::get(format!("/api/v1{path}")).header("authorization", format!("Bearer {}", api.admin));
    let response = api.router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
    assert_eq!(response.status(), 200, "{path}");
    assert_eq!(response.headers()["content-type"], "application/octet-stream");
    to_bytes(response.into_body(), 1 << 20).await.unwrap().to_vec()
}

/// Tiles that were fetched, by their path.
#[derive(Default)]
struct Fetched {
    tiles: BTreeMap<String, Vec<u8>>,
    missing: RefCell<Vec<String>>,
}

fn path(tile: &Tile) -> String {
    tile.path().replacen("tile/8/", "/log/tile/", 1)
}

impl TileReader for Fetched {
    fn height(&self) -> u8 {
        8
    }

    fn read_tiles(&self, tiles: &[Tile]) -> Result<Vec<Vec<u8>>, Error> {
        let read = |tile: &Tile| match self.tiles.get(&path(tile)) {
            Some(bytes) => Ok(bytes.clone()),
            None => {
                self.missing.borrow_mut().push(path(tile));
                Err(Error::InvalidTile)
            }
        };
        let all: Vec<_> = tiles.iter().map(read).collect();
        all.into_iter().collect()
    }

    fn save_tiles(&self, _: &[Tile], _: &[Vec<u8>]) {}
}

/// Some leaves, proven from tiles of the server.
async fn leaves(api: &Api, checkpoint: &tlog_tiles::Checkpoint, indexes: &[u64]) -> Vec<tlog_tiles::Hash> {
    let mut fetched = Fetched::default();
    let places: Vec<_> = indexes.iter().map(|index| stored_hash_index(0, *index)).collect();
    loop {
        let reader = TileHashReader::new(checkpoint.size(), *checkpoint.hash(), &fetched);
        if let Ok(hashes) = reader.read_hashes(&places) {
            return hashes;
        }
        let missing = fetched.missing.take();
        assert!(!missing.is_empty(), "the tiles do not prove the leaves");
        for path in missing {
            let reply = bytes(api, &path).await;
            fetched.tiles.insert(path, reply);
        }
    }
}

/// More than a tile of events.
async fn long() -> Api {
    let api = Api::new().await;
    for number in 0..280 {
        api.admin("POST", "/groups", json!({"slug": format!("group-{number}")})).await.ok(201);
    }
    api
}

#[tokio::test]
async fn a_client_written_elsewhere_proves_every_event_from_tiles_and_a_checkpoint() {
    let api = long().await;
    let checkpoint = checkpoint(&api).await;
    assert!(checkpoint.size() > 256);
    let events = api.control.events(charter_events::Offset::ZERO, 10_000).await.unwrap();
    let indexes = [0, 7, 255, 256, checkpoint.size() - 1];
    let proven = leaves(&api, &checkpoint, &indexes).await;
    for (index, leaf) in indexes.iter().zip(proven) {
        assert_eq!(leaf.0, *events[*index as usize].hash.as_bytes(), "{index}");
    }
    // The entries are the records, and their hashes the leaves.
    let mut entries = bytes(&api, "/log/tile/entries/000").await;
    let narrow = format!("/log/tile/entries/001.p/{}", checkpoint.size() - 256);
    entries.extend(bytes(&api, &narrow).await);
    let mut rest = entries.as_slice();
    for event in &events {
        let (length, after) = rest.split_first_chunk::<2>().unwrap();
        let (entry, after) = after.split_at(usize::from(u16::from_be_bytes(*length)));
        assert_eq!(tlog_tiles::record_hash(entry).0, *event.hash.as_bytes(), "{}", event.offset);
        let mut record = Vec::new();
        write_record(api.control.log_id(), event, &mut record);
        assert_eq!(entry, record);
        rest = after;
    }
    assert!(rest.is_empty());
}

#[tokio::test]
async fn a_proof_stands_alone_and_one_of_the_next_checkpoint_is_of_the_same_log() {
    let api = long().await;
    let old = checkpoint(&api).await;
    let text = api.admin("GET", "/log/proof?offset=30", Value::Null).await.ok(200).text;
    let proof: InclusionText = text.parse().unwrap();
    let key: VerifierKey = api.control.verifier_key().parse().unwrap();
    assert_eq!(proof.check(&key).unwrap().size, old.size());
    let leaf = tlog_tiles::record_hash(&proof.record);
    let path: Vec<_> = proof.path.iter().map(|hash| tlog_tiles::Hash(*hash.as_bytes())).collect();
    tlog_tiles::check_record(&path, old.size(), *old.hash(), 29, leaf).unwrap();
    assert_eq!(STANDARD.encode(&proof.record), text.lines().nth(1).unwrap().trim_start_matches("extra "));
    api.admin("POST", "/groups", json!({"slug": "one-more"})).await.ok(201);
    let new = checkpoint(&api).await;
    let same = leaves(&api, &new, &[29]).await;
    assert_eq!(same, [leaf]);
    let note: SignedNote =
        api.admin("GET", "/log/checkpoint", Value::Null).await.ok(200).text.parse().unwrap();
    assert!(Checkpoint::of(&note).unwrap().size > old.size());
}

#[tokio::test]
async fn tiles_that_the_checkpoint_does_not_have_are_not_found_and_events_are_beyond_the_head() {
    let api = long().await;
    let size = checkpoint(&api).await.size();
    for tile in [
        "0/002",
        "0/001",
        &format!("0/001.p/{}", size - 255),
        "1/000",
        "1/000.p/2",
        "2/000.p/1",
        "entries/001",
        "0/0",
        "9/000",
        "data/000",
        "0/000.p/0",
        "0/000/",
        "0//000",
        "x",
        "0/x999/x999/x999/x999/x999/x999/999",
    ] {
        api.admin("GET", &format!("/log/tile/{tile}"), Value::Null).await.refused(404, "not_found");
    }
    assert_eq!(bytes(&api, "/log/tile/1/000.p/1").await.len(), 32);
    assert_eq!(
        bytes(&api, "/log/tile/0/000.p/3").await.len(),
        96,
        "narrower than the log ever was at a checkpoint"
    );
    let told = api.admin("GET", &format!("/log/proof?offset={}", size + 1), Value::Null).await;
    let told = told.refused(422, "beyond_head").body;
    assert_eq!(told["field"], "offset");
    assert_eq!(told["detail"], format!("the log has no event at offset {}: it ends at {size}", size + 1));
    for offset in ["", "?offset=0", "?offset=x", "?offset=-1", "?offset=9223372036854775808"] {
        let reply = api.admin("GET", &format!("/log/proof{offset}"), Value::Null).await;
        reply.refused(400, "invalid_parameter");
    }
}
