//! Random operations beside a model that is too simple to be wrong.

use super::samples::{Writing, answer, batch_of, moment};
use crate::{
    Answer, Batch, CredentialKind, CredentialRow, IdempotencyKey, PasswordHash, SecretHash, SecretWrite,
    Store, verify,
};
use charter_events::{Offset, StoredEvent, UserId};
use std::{collections::BTreeMap, sync::Arc};
use uuid::Uuid;

const OPERATIONS: usize = 1_000;

#[derive(Default)]
struct Model {
    events: Vec<StoredEvent>,
    answers: BTreeMap<IdempotencyKey, Answer>,
    passwords: BTreeMap<UserId, String>,
    sessions: BTreeMap<u128, CredentialRow>,
}

/// Numbers that look random (splitmix64), the same in every run.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn roll(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % below
    }

    pub(super) fn size(&mut self, below: u64) -> usize {
        usize::try_from(self.roll(below)).unwrap()
    }
}

pub(super) async fn random_operations(store: Arc<dyn Store>) {
    let mut model = Model::default();
    let mut dice = Dice(42);
    for operation in 0..OPERATIONS {
        match dice.roll(10) {
            0..4 => append(&*store, &mut model, &mut dice).await,
            4..7 => read(&*store, &model, &mut dice).await,
            7 => change_secrets(&*store, &mut model, &mut dice).await,
            8 => read_secrets(&*store, &model, &mut dice).await,
            _ => forget(&*store, &mut model, &mut dice).await,
        }
        let head = store.head().await.unwrap();
        assert_eq!(head.offset.get(), model.events.len() as u64, "operation {operation}");
    }
    let scanned = verify::scan(&*store, Offset::ZERO, |_| ()).await.unwrap();
    assert_eq!(scanned.events, model.events.len() as u64);
}

async fn append(store: &dyn Store, model: &mut Model, dice: &mut Dice) {
    let mut append = store.append().await.unwrap();
    let mut staged = Batch::default();
    for _ in 0..dice.roll(4) {
        let events = Writing::new(append.head()).command(dice.size(12) + 1);
        let mut batch = batch_of(events);
        let head = charter_events::Head { offset: batch.events.last().unwrap().offset, ..append.head() };
        let given =
            Answer { at: moment(model.events.len() as i64), ..answer(&dice.roll(5_000).to_string(), head) };
        let known = append.answer(&given.key).await.unwrap();
        assert_eq!(known.as_ref(), model.answers.get(&given.key));
        if known.is_none() && !staged.answers.iter().any(|a| a.key == given.key) {
            batch.answers.push(given);
        }
        append.write(&batch).await.unwrap();
        staged.events.extend(batch.events);
        staged.answers.extend(batch.answers);
    }
    match dice.roll(4) {
        0 => append.rollback().await.unwrap(),
        1 => drop(append),
        _ => {
            append.commit().await.unwrap();
            model.events.extend(staged.events);
            model.answers.extend(staged.answers.into_iter().map(|a| (a.key.clone(), a)));
        }
    }
}

async fn read(store: &dyn Store, model: &Model, dice: &mut Dice) {
    let after = dice.size(model.events.len() as u64 + 3);
    let limit = dice.size(200);
    let page = store.read(Offset::new(after as u64).unwrap(), limit).await.unwrap();
    let expected: Vec<_> = model.events.iter().skip(after).take(limit).cloned().collect();
    assert_eq!(page, expected);
}

fn user(dice: &mut Dice) -> UserId {
    UserId::from_u128(u128::from(dice.roll(5)) + 1)
}

async fn change_secrets(store: &dyn Store, model: &mut Model, dice: &mut Dice) {
    let user = user(dice);
    let number = u128::from(dice.roll(40));
    match dice.roll(4) {
        0 => {
            let phc = format!("$argon2id${number}");
            let hash = PasswordHash::new(phc.clone());
            store.write_secrets(&[SecretWrite::PutPassword { user, hash }]).await.unwrap();
            model.passwords.insert(user, phc);
        }
        1 => {
            store.write_secrets(&[SecretWrite::RemovePassword { user }]).await.unwrap();
            model.passwords.remove(&user);
        }
        2 => {
            let row = CredentialRow {
                kind: CredentialKind::Session,
                id: Uuid::from_u128(number),
                user,
                created_at: moment(i64::try_from(number).unwrap()),
                expires_at: Some(moment(i64::try_from(number).unwrap())),
                began: Offset::ZERO,
                last_used: None,
            };
            let put = SecretWrite::PutCredential { hash: session_hash(number), row: row.clone() };
            let result = store.write_secrets(&[put]).await;
            assert_eq!(result.is_err(), model.sessions.contains_key(&number));
            model.sessions.entry(number).or_insert(row);
        }
        _ => {
            let kind = Some(CredentialKind::Session);
            store.write_secrets(&[SecretWrite::RemoveCredentialsOf { user, kind }]).await.unwrap();
            model.sessions.retain(|_, row| row.user != user);
        }
    }
}

fn session_hash(number: u128) -> SecretHash {
    let mut bytes = [0; 32];
    bytes[..16].copy_from_slice(&number.to_be_bytes());
    SecretHash::new(bytes)
}

async fn read_secrets(store: &dyn Store, model: &Model, dice: &mut Dice) {
    let user = user(dice);
    let password = store.password(user).await.unwrap().map(|hash| hash.expose().to_owned());
    assert_eq!(password.as_ref(), model.passwords.get(&user));
    let expected: Vec<_> = model.sessions.values().rev().filter(|row| row.user == user).cloned().collect();
    assert_eq!(store.sessions_of(user).await.unwrap(), expected);
    let number = u128::from(dice.roll(40));
    assert_eq!(store.credential(&session_hash(number)).await.unwrap().as_ref(), model.sessions.get(&number));
}

async fn forget(store: &dyn Store, model: &mut Model, dice: &mut Dice) {
    let before = moment(dice.roll(60) as i64);
    let (answers, sessions) = (model.answers.len(), model.sessions.len());
    model.answers.retain(|_, a| a.at >= before);
    model.sessions.retain(|_, row| row.expires_at >= Some(before));
    assert_eq!(store.forget_answers_before(before).await.unwrap(), answers - model.answers.len());
    assert_eq!(store.forget_credentials_ended_before(before).await.unwrap(), sessions - model.sessions.len());
}
