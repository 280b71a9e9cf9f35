//! The log published beside the server.

use crate::support::{Home, Server};
use charter_services::Nats;

#[test]
fn what_a_server_recorded_is_on_the_stream_when_it_ended() {
    let nats = Nats::start().unwrap();
    let url = nats.url();
    let variables = [("CHARTER_NATS_URL", url.as_str())];
    let data = tempfile::tempdir().unwrap();
    let server = Server::start_with(data.path(), &variables);
    let ada = server.set_up();
    for number in 0..20 {
        ada.run(&format!("group create g{number}")).done();
    }
    assert_eq!(server.stop("-TERM"), 0);
    let home = Home::new();
    let doctor = home.run_in(&variables, &format!("doctor -o json --data {}", data.path().display()));
    let rows = doctor.done().json();
    let stream = rows.as_array().unwrap().iter().find(|row| row["check"] == "stream").unwrap().clone();
    assert!(stream["detail"].as_str().unwrap().contains(": 1 to "), "{stream}");
    assert!(stream["detail"].as_str().unwrap().ends_with(", 0 behind the log"), "{stream}");
}
