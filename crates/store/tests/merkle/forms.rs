//! The forms: what is not written as it should be is refused, and a proof that stands alone stands.

use super::{leaves, tree};
use charter_events::{LogId, StoredEvent};
use charter_store::{
    Key32,
    chain::write_record,
    conformance::Writing,
    merkle::{
        Checkpoint, InclusionText, Nodes, NoteError, ProofError, SignedNote, Signer, Tree, UnprovenError,
        VerifierKey, origin,
    },
};

const LOG: LogId = LogId::from_u128(7);

fn signer() -> Signer {
    Signer::new(&origin(LOG), &Key32::new([5; 32]))
}

fn checkpoint() -> Checkpoint {
    Checkpoint { origin: origin(LOG), size: 42, root: tree(&leaves(42)).root() }
}

#[test]
fn a_note_is_read_as_it_was_written() {
    let note = checkpoint().sign(&signer());
    assert_eq!(note.to_string().parse::<SignedNote>(), Ok(note.clone()));
    assert_eq!(Checkpoint::of(&note), Ok(checkpoint()));
    note.check(&signer().verifier_key()).unwrap();
}

#[test]
fn each_byte_of_a_checkpoint_and_of_a_key_that_is_changed_is_noticed() {
    let note = checkpoint().sign(&signer()).to_string();
    let key = signer().verifier_key();
    for at in 0..note.len() {
        let mut bytes = note.clone().into_bytes();
        bytes[at] ^= 1;
        let read = String::from_utf8(bytes).ok().and_then(|text| text.parse::<SignedNote>().ok());
        assert!(read.is_none_or(|note| note.check(&key).is_err()), "byte {at}");
    }
    let text = key.to_string();
    for at in 0..text.len() {
        let mut bytes = text.clone().into_bytes();
        bytes[at] ^= 1;
        let read = String::from_utf8(bytes).unwrap().parse::<VerifierKey>();
        assert!(read.is_err(), "byte {at}: {read:?}");
    }
}

#[test]
fn what_is_no_note_no_checkpoint_or_no_key_is_refused() {
    let note = checkpoint().sign(&signer()).to_string();
    for wrong in [
        String::new(),
        note.trim_end().to_owned(),
        note.replace("\n\n", "\n"),
        note.replace('\u{2014}', "-"),
        note.replace("42", "4\t2"),
        format!("{note}{}", "\u{2014} a b\n"),
        format!("{note}{}", "\u{2014} a YWJjZGU=\n".repeat(100)),
        "x".repeat(70_000),
    ] {
        assert!(matches!(wrong.parse::<SignedNote>(), Err(NoteError::Malformed(_))), "{wrong}");
    }
    let root = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    assert!(format!("o\n1\n{root}\nmore\n").parse::<Checkpoint>().is_ok());
    for wrong in [
        format!("o\n01\n{root}\n"),
        format!("o\n+1\n{root}\n"),
        format!("o\n-1\n{root}\n"),
        format!("o\n1\n{root}"),
        format!("\n1\n{root}\n"),
        format!("o\n1\n{root}\n\n"),
        format!("o\n18446744073709551616\n{root}\n"),
        "o\n1\nAAAA\n".to_owned(),
        "o\n1\n".to_owned(),
    ] {
        assert!(matches!(wrong.parse::<Checkpoint>(), Err(NoteError::Malformed(_))), "{wrong}");
    }
    let key = signer().verifier_key().to_string();
    for wrong in ["", "a", "a+b", "+00000000+AQ==", "a b+00000000+AQ=="] {
        assert!(matches!(wrong.parse::<VerifierKey>(), Err(NoteError::Key(_))), "{wrong}");
    }
    assert!(key.replace("charter/", "charter ").parse::<VerifierKey>().is_err());
}

fn events(count: usize) -> Vec<StoredEvent> {
    Writing::new(charter_store::chain::empty(LOG)).command(count)
}

fn proven(events: &[StoredEvent], offset: usize) -> InclusionText {
    let mut tree = Tree::default();
    events.iter().for_each(|event| tree.push(event.hash));
    let mut record = Vec::new();
    write_record(LOG, &events[offset - 1], &mut record);
    let index = offset as u64 - 1;
    let path = Nodes::new(&tree).inclusion(index, tree.size()).unwrap();
    let checkpoint = Checkpoint { origin: origin(LOG), size: tree.size(), root: tree.root() };
    InclusionText { record, index, path, note: checkpoint.sign(&signer()) }
}

#[test]
fn a_proof_that_an_event_is_in_the_log_needs_the_key_and_nothing_else() {
    let events = events(60);
    let proof = proven(&events, 23);
    let text = proof.to_string();
    let read: InclusionText = text.parse().unwrap();
    assert_eq!(read, proof);
    let key: VerifierKey = signer().verifier_key().to_string().parse().unwrap();
    assert_eq!(read.check(&key).unwrap().size, events.len() as u64);
    for at in (0..text.len()).step_by(5) {
        let mut bytes = text.clone().into_bytes();
        bytes[at] ^= 1;
        let read = String::from_utf8(bytes).ok().and_then(|text| text.parse::<InclusionText>().ok());
        assert!(read.is_none_or(|proof| proof.check(&key).is_err()), "byte {at}");
    }
}

#[test]
fn a_proof_of_another_place_log_or_key_proves_nothing() {
    let events = events(60);
    let key = signer().verifier_key();
    let moved = InclusionText { index: 5, ..proven(&events, 23) };
    assert_eq!(moved.check(&key), Err(UnprovenError::Proof(ProofError::Wrong)));
    let other = Signer::new(&origin(LOG), &Key32::new([6; 32])).verifier_key();
    assert_eq!(proven(&events, 23).check(&other), Err(UnprovenError::Note(NoteError::NotSigned)));
    let mut elsewhere = proven(&events, 23);
    let checkpoint =
        Checkpoint { origin: "another log".to_owned(), ..Checkpoint::of(&elsewhere.note).unwrap() };
    elsewhere.note = checkpoint.sign(&signer());
    assert_eq!(elsewhere.check(&key), Err(UnprovenError::Note(NoteError::NotSigned)));
}
