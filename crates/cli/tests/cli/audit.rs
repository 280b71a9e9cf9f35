//! `charter audit`: what happened, as people read it.

use crate::support::{Home, PASSWORD, Server};

#[test]
fn what_happened_is_told_with_names_and_narrowed() {
    let data = Home::new();
    let server = Server::start(&data.path("data"));
    let ada = server.set_up();
    ada.run("demo").done();
    ada.run_with(&["user", "create", "kim", "--name", "Kim", "--password-stdin"], PASSWORD).done();
    ada.run_in(&[], "grant allow kim -p minecraft.server.restart --on server:survival --reason Ticket-7")
        .done();

    let told = ada.run("audit --subject kim --type grant").done().stdout;
    let row = told.lines().nth(1).unwrap();
    for part in
        ["grant.issued", "user:kim, server:survival", "permissions=minecraft.server.restart", "Ticket-7"]
    {
        assert!(row.contains(part), "{part} is not in\n{told}");
    }
    assert_eq!(told.lines().count(), 2, "{told}");
    let found = ada.run("audit --object server:survival --search TICKET-7 -o json").done().json();
    assert_eq!(found.as_array().unwrap().len(), 1);
    assert_eq!(found[0]["user"]["username"], "kim");
    let offset = found[0]["offset"].to_string();
    let here = ada.run(&format!("audit --from {offset} --to {offset} -o name")).done();
    assert_eq!(here.stdout.trim(), offset);
    assert_eq!(ada.run("audit --from 1h --limit 1 -o name").done().stdout.trim(), offset);
    assert_eq!(ada.run("audit --to 1h -o json").done().json(), serde_json::json!([]));
    ada.run("audit --from yesterday").fails(2, "`yesterday` is no offset");
    ada.run("audit --type nothing").fails(1, "an event's type such as `grant.issued`");
    ada.run("audit --object server:none").fails(1, "not");
}
