//! The server dies, comes back with less, or holds another history.

use crate::support::*;
use charter_bus_nats::{BusError, Fork, Publisher, PublisherOptions, stream_name};
use charter_services::Nats;
use charter_store::LogStore;
use std::{path::Path, sync::Arc, time::Duration};
use tokio::sync::watch;

#[tokio::test]
async fn a_server_killed_while_publishing_ends_up_with_the_whole_log() {
    let (nats, store) = (Nats::start().unwrap(), log_of(0).await);
    let running = Running::start(&bus(&nats.url()).await, &store, quick()).await;
    for round in 1..=3 {
        running.append(&store, 1_500).await;
        let some = (round - 1) * 1_500 + 50;
        until("some are stored", || async { last_sequence(&nats.url()).await >= some }).await;
        nats.kill().unwrap();
        nats.restart().unwrap();
    }
    until_last(&nats.url(), 4_500).await;

    assert_stream_is(&nats.url(), &store).await;
    assert!(running.alarms.lock().unwrap().is_empty());
    running.stop().await;
}

#[tokio::test]
async fn an_outage_of_twice_the_duplicate_window_loses_and_doubles_nothing() {
    let (nats, store) = (Nats::start().unwrap(), log_of(0).await);
    let window = Duration::from_millis(200);
    let options = PublisherOptions { duplicate_window: window, ..quick() };
    let running = Running::start(&bus(&nats.url()).await, &store, options).await;
    for round in 1..=3_u64 {
        running.append(&store, 1_000).await;
        let some = (round - 1) * 1_000 + 10;
        until("some are stored", || async { last_sequence(&nats.url()).await >= some }).await;
        // whatever was on its way is stored or not, and unanswered
        nats.kill().unwrap();
        tokio::time::sleep(window * 2).await;
        nats.restart().unwrap();
        until_last(&nats.url(), round * 1_000).await;
    }

    assert_eq!(stream(&nats.url()).await.cached_info().config.duplicate_window, window);
    assert_stream_is(&nats.url(), &store).await;
    running.stop().await;
}

#[tokio::test]
async fn a_deleted_stream_is_made_again_and_holds_the_whole_log() {
    let (nats, store) = (Nats::start().unwrap(), log_of(300).await);
    let running = Running::start(&bus(&nats.url()).await, &store, quick()).await;
    until_last(&nats.url(), 300).await;

    // while nothing is to be published
    admin(&nats.url()).await.delete_stream(stream_name(LOG)).await.unwrap();
    until_last(&nats.url(), 300).await;
    assert_stream_is(&nats.url(), &store).await;

    // while a lot is
    running.append(&store, 2_000).await;
    admin(&nats.url()).await.delete_stream(stream_name(LOG)).await.unwrap();
    until_last(&nats.url(), 2_300).await;

    assert_stream_is(&nats.url(), &store).await;
    assert!(running.alarms.lock().unwrap().is_empty());
    running.stop().await;
}

#[tokio::test]
async fn a_stream_restored_from_an_old_copy_is_filled_up_again() {
    let (nats, store) = (Nats::start().unwrap(), log_of(200).await);
    let copy = tempfile::tempdir().unwrap();
    let running = Running::start(&bus(&nats.url()).await, &store, quick()).await;
    until_last(&nats.url(), 200).await;
    nats.stop().unwrap();
    copy_folder(&nats.folder(), copy.path());
    nats.restart().unwrap();
    running.append(&store, 300).await;
    until_last(&nats.url(), 500).await;

    nats.kill().unwrap();
    std::fs::remove_dir_all(nats.folder()).unwrap();
    copy_folder(copy.path(), &nats.folder());
    nats.restart().unwrap();
    until_last(&nats.url(), 500).await;

    assert_stream_is(&nats.url(), &store).await;
    assert!(running.alarms.lock().unwrap().is_empty());
    running.stop().await;
}

#[tokio::test]
async fn another_history_is_an_alarm_and_nothing_is_published_until_it_is_gone() {
    let (nats, theirs, ours) = (Nats::start().unwrap(), log_of(40).await, log_of(40).await);
    append_named(&theirs, 60, "Theirs").await;
    append_named(&ours, 80, "Ours").await;
    let running = Running::start(&bus(&nats.url()).await, &theirs, quick()).await;
    until_last(&nats.url(), 100).await;
    running.stop().await;

    let running = Running::start(&bus(&nats.url()).await, &ours, quick()).await;
    until("the alarm", || async { !running.alarms.lock().unwrap().is_empty() }).await;
    running.append(&ours, 10).await;
    tokio::time::sleep(quick().forked_look_every * 3).await;

    let expected = Fork {
        stream: stream_name(LOG),
        offset: offset(41),
        expected: Some(events_of(&ours).await[40].hash),
        found: Some(events_of(&theirs).await[40].hash),
    };
    assert_eq!(*running.alarms.lock().unwrap(), [Some(expected)]);
    assert_stream_is(&nats.url(), &theirs).await;

    // who repairs it removes the wrong stream
    admin(&nats.url()).await.delete_stream(stream_name(LOG)).await.unwrap();
    until_last(&nats.url(), 130).await;
    assert_stream_is(&nats.url(), &ours).await;
    assert_eq!(running.alarms.lock().unwrap().last(), Some(&None));
    running.stop().await;
}

#[tokio::test]
async fn a_stream_that_knows_more_than_the_log_is_a_fork() {
    let nats = Nats::start().unwrap();
    let (newer, older) = (log_of(30).await, log_of(30).await);
    append(&newer, 5).await;
    let running = Running::start(&bus(&nats.url()).await, &newer, quick()).await;
    until_last(&nats.url(), 35).await;
    running.stop().await;

    let (_versions, versions) = watch::channel(older.head().await.unwrap().offset);
    let publisher = Publisher::new(bus(&nats.url()).await, Arc::new(older), LOG, versions);
    let error = publisher.prepare().await.unwrap_err();

    let found = Some(events_of(&newer).await[30].hash);
    let fork = Fork { stream: stream_name(LOG), offset: offset(31), expected: None, found };
    assert!(matches!(&error, BusError::Fork(found) if *found == fork), "{error}");
}

#[tokio::test]
async fn a_foreign_message_on_the_stream_is_a_fork() {
    let (nats, store) = (Nats::start().unwrap(), log_of(10).await);
    let running = Running::start(&bus(&nats.url()).await, &store, quick()).await;
    until_last(&nats.url(), 10).await;

    let subject = charter_bus_nats::subject(LOG, "grant.issued");
    admin(&nats.url()).await.publish(subject, "{}".into()).await.unwrap().await.unwrap();
    running.append(&store, 3).await;
    until("the alarm", || async { !running.alarms.lock().unwrap().is_empty() }).await;

    let alarms = running.alarms.lock().unwrap().clone();
    assert!(
        matches!(&alarms[..], [Some(Fork { offset, found: None, .. })] if offset.get() == 11),
        "{alarms:?}"
    );
    running.stop().await;

    // what was on its way behind it may have been stored; who begins anew finds it all the same
    let anew = Running::start(&bus(&nats.url()).await, &store, quick()).await;
    until("the alarm", || async { !anew.alarms.lock().unwrap().is_empty() }).await;
    assert_eq!(*anew.alarms.lock().unwrap(), alarms);
    anew.stop().await;
}

#[tokio::test]
async fn a_store_that_goes_away_while_messages_are_on_their_way_hides_no_fork() {
    let (nats, store) = (Nats::start().unwrap(), log_of(10).await);
    let options = PublisherOptions { lead_every: Duration::from_secs(600), ..quick() };
    let running = Running::start(&bus(&nats.url()).await, &store, options).await;
    until_last(&nats.url(), 10).await;
    let signal = |name| charter_services::signal(nats.pid().unwrap(), name).unwrap();

    // a foreign message, then ten of ours, which nobody answers yet
    let subject = charter_bus_nats::subject(LOG, "grant.issued");
    let admin = admin(&nats.url()).await;
    admin.publish(subject, "{}".into()).await.unwrap().await.unwrap();
    signal("STOP");
    running.append(&store, 10).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    append(&store, 1).await;
    store.hooks().set_unavailable(true);
    running.versions.send_replace(offset(21));
    tokio::time::sleep(Duration::from_millis(100)).await;
    signal("CONT");
    until_last(&nats.url(), 20).await;
    store.hooks().set_unavailable(false);

    until("the alarm", || async { !running.alarms.lock().unwrap().is_empty() }).await;
    let alarms = running.alarms.lock().unwrap().clone();
    assert!(matches!(&alarms[..], [Some(fork)] if fork.offset.get() == 11), "{alarms:?}");
    running.stop().await;
}

#[tokio::test]
async fn two_histories_published_at_once_are_an_alarm() {
    let nats = Nats::start().unwrap();
    let stores = [log_of(50).await, log_of(50).await];
    let running = [
        Running::start(&bus(&nats.url()).await, &stores[0], quick()).await,
        Running::start(&bus(&nats.url()).await, &stores[1], quick()).await,
    ];
    until_last(&nats.url(), 50).await;

    append_named(&stores[0], 500, "One").await;
    append_named(&stores[1], 500, "Other").await;
    for running in &running {
        running.versions.send_replace(offset(550));
    }

    // whoever was slower finds the other's first event; the other may find later ones of his before that
    until("an alarm at the first event that differs", || async {
        running.iter().any(|r| {
            let alarms = r.alarms.lock().unwrap();
            alarms.iter().flatten().any(|fork| fork.offset.get() == 51)
        })
    })
    .await;
    for running in running {
        running.stop().await;
    }
}

#[tokio::test]
async fn a_store_that_is_away_is_waited_for() {
    let (nats, store) = (Nats::start().unwrap(), log_of(10).await);
    let running = Running::start(&bus(&nats.url()).await, &store, quick()).await;
    until_last(&nats.url(), 10).await;

    append(&store, 10).await;
    store.hooks().set_unavailable(true);
    running.versions.send_replace(offset(20));
    tokio::time::sleep(Duration::from_millis(500)).await;
    store.hooks().set_unavailable(false);
    until_last(&nats.url(), 20).await;

    assert_stream_is(&nats.url(), &store).await;
    running.stop().await;
}

fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_folder(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).unwrap();
        }
    }
}
