//! What keeps a server from starting is one line that names what to change, and shows no secret.

use crate::{
    databases::both,
    support::{Home, Ran},
};
use charter_services::{Database, Nats, NatsSettings};

#[track_caller]
fn one_line(ran: &Ran, says: &str) {
    ran.fails(1, says);
    let errors: Vec<&str> = ran.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
    assert_eq!(errors.len(), 1, "{ran:?}");
    assert!(!ran.stderr.contains("hunter2"), "{ran:?}");
}

#[test]
fn a_database_that_can_not_be_used_is_one_line() {
    let home = Home::new();
    let database = Database::fresh("cli").unwrap();
    let (signed_in, place) = database.server_url.split_once('@').unwrap();
    let user = signed_in.rsplit_once(':').unwrap().0;
    for (url, says) in [
        ("mysql://ann:hunter2@db/charter".to_owned(), "begins with `postgres://`"),
        ("postgres://ann:hunter2@127.0.0.1:1/charter".to_owned(), "nothing listens at `127.0.0.1:1`"),
        (format!("{user}:hunter2@{place}"), "the password of the role"),
        (format!("{}_not", database.server_url), "there is no database `"),
        (format!("postgres://{place}"), "its address names no role"),
        (format!("{user}@{place}"), "its address has none"),
        (database.server_url.clone(), "run `charter migrate` first"),
    ] {
        for verb in ["serve --listen 127.0.0.1:0 --log warn", "doctor", "verify"] {
            one_line(&home.run_in(&[("CHARTER_DATABASE_URL", &url)], verb), says);
        }
    }
}

#[test]
fn a_password_that_must_be_written_otherwise_is_hinted_at() {
    let ran =
        Home::new().run_in(&[("CHARTER_DATABASE_URL", "postgres://ann:hunter2/x@db/charter")], "doctor");
    one_line(&ran, "`/` as `%2F`");
}

#[test]
fn a_port_that_is_no_nats_does_not_hold_up_a_start() {
    // Takes connections and says nothing.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("nats://{}", silent.local_addr().unwrap());
    let data = tempfile::tempdir().unwrap();
    let server = crate::support::Server::start_with(data.path(), &[("CHARTER_NATS_URL", &url)]);
    assert!(server.banner.contains("(away: "), "{}", server.banner);
    assert_eq!(server.stop("-TERM"), 0);
}

#[test]
fn a_right_that_is_missing_is_named() {
    let home = Home::new();
    let database = Database::fresh("cli").unwrap();
    home.run_in(&both(&database), "migrate").done();
    database.sql(&format!("REVOKE INSERT ON log.events FROM {}", database.server_role)).unwrap();
    let ran = home.run_in(&[("CHARTER_DATABASE_URL", &database.server_url)], "serve --listen 127.0.0.1:0");
    one_line(&ran, "INSERT");
    let doctor = home.run_in(&[("CHARTER_DATABASE_URL", &database.server_url)], "doctor");
    doctor.fails(1, "1 of ");
    assert!(doctor.stdout.contains("WRONG") && doctor.stdout.contains("INSERT"), "{doctor:?}");
}

#[test]
fn a_bus_that_can_not_be_used_is_one_line_and_one_that_is_away_is_waited_for() {
    let home = Home::new();
    let without = NatsSettings { without_jetstream: true, ..NatsSettings::default() };
    let without = Nats::start_with(without).unwrap();
    let closed = "authorization { users = [{ user: ann, password: right }] }";
    let closed = NatsSettings { config: Some(closed.to_owned()), ..NatsSettings::default() };
    let closed = Nats::start_with(closed).unwrap();
    let serve = "serve --listen 127.0.0.1:0 --log warn";
    for (url, says) in [
        ("amqp://ann:hunter2@bus".to_owned(), "neither `nats://` nor `tls://`"),
        (without.url(), "JetStream is not enabled"),
        (closed.url_as("ann", "hunter2"), "does not accept the user and password"),
    ] {
        one_line(&home.run_in(&[("CHARTER_NATS_URL", &url)], serve), says);
    }
    // Once there is a log, what may be passing does not keep anybody from deciding.
    let data = tempfile::tempdir().unwrap();
    let server = crate::support::Server::start(data.path());
    assert_eq!(server.stop("-TERM"), 0);
    let url = without.url();
    let server = crate::support::Server::start_with(data.path(), &[("CHARTER_NATS_URL", &url)]);
    assert!(server.banner.contains("JetStream is not enabled"), "{}", server.banner);
    server.set_up();
    assert_eq!(server.stop("-TERM"), 0);
    let data = tempfile::tempdir().unwrap();
    let away = [("CHARTER_NATS_URL", "nats://ann:hunter2@127.0.0.1:1")];
    let server = crate::support::Server::start_with(data.path(), &away);
    assert!(server.banner.contains("nats://***@127.0.0.1:1 (away: "), "{}", server.banner);
    server.set_up();
    assert_eq!(server.stop("-TERM"), 0);
}

#[test]
fn help_never_shows_a_password() {
    let home = Home::new();
    let url = "postgres://ann:hunter2@db/charter";
    let secret = [("CHARTER_DATABASE_URL", url), ("CHARTER_MIGRATION_URL", url), ("CHARTER_NATS_URL", url)];
    for verb in ["serve", "migrate", "doctor", "verify", "recover-admin", "replay export", "replay import"] {
        let ran = home.run_in(&secret, &format!("{verb} --help")).done();
        assert!(!ran.stdout.contains("hunter2") && ran.stdout.contains("CHARTER_DATABASE_URL"), "{ran:?}");
    }
}
