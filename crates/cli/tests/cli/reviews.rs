//! Importing many at once, and reports of everything somebody has: what administrators do with files.

use crate::support::{Home, Ran, Server};
use serde_json::{Value, json};

const CATALOG: &str = "namespace: game
permissions:
  - {key: game.server.read, description: See servers, object_types: [server]}
  - {key: game.server.create, description: Create servers, object_types: [server]}
  - {key: game.server.manage, description: Manage servers, object_types: [server]}
  - {key: game.server.restart, description: Restart servers, object_types: [server]}
object_types:
  - {name: server, read: game.server.read, create: game.server.create, manage: game.server.manage}
";

fn furnished(server: &Server) -> Home {
    let ada = server.set_up();
    let catalog = ada.file("game.yaml", CATALOG);
    for command in
        [format!("catalog apply {catalog}").as_str(), "folder create eu", "object create server:s1 --in eu"]
    {
        ada.run(command).done();
    }
    ada
}

/// The outcome of each line, by its number.
fn outcomes(ran: &Ran) -> Vec<(u64, String)> {
    let rows = ran.json();
    let rows = rows.as_array().unwrap().iter();
    rows.map(|row| (row["line"].as_u64().unwrap(), row["outcome"].as_str().unwrap().to_owned())).collect()
}

fn all(ran: &Ran, outcome: &str) -> bool {
    let all = outcomes(ran);
    !all.is_empty() && all.iter().all(|(_, became)| became == outcome)
}

fn offset(home: &Home) -> Value {
    home.run("log show -o json").json()["head"].clone()
}

#[test]
fn files_are_imported_through_every_guard_and_again_without_a_change() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path());
    let ada = furnished(&server);
    let users = ada.file(
        "users.csv",
        "\u{feff}username,display_name,email\nbob,Bob,bob@example.org\nc-3,\"C, the 3rd\",\n",
    );
    let groups = json!([
        {"slug": "ops", "name": "Operations", "members": ["bob"]},
        {"slug": "ops", "members": ["bob", "c-3"]},
    ]);
    let groups = ada.file("groups.json", &groups.to_string());
    let grants = "subject,role,permissions,scope,expires_at\n\
        bob,,game.server.read game.server.restart,server:s1,\n\
        group:ops,viewer,,folder:eu,2999-01-01T00:00:00Z\n";
    let grants = ada.file("grants.csv", grants);

    let before = offset(&ada);
    let dry = ada.run(&format!("import users {users} --dry-run -o json"));
    assert!(all(&dry, "created"), "{dry:?}");
    assert!(dry.stderr.contains("users: 2 created (a dry run: nothing was changed)."), "{dry:?}");
    assert_eq!(offset(&ada), before, "a dry run wrote something");

    for (what, file) in [("users", &users), ("groups", &groups), ("grants", &grants)] {
        let first = ada.run(&format!("import {what} {file} -o json"));
        assert_eq!(first.code, 0, "{first:?}");
        assert!(!all(&first, "unchanged"), "{first:?}");
    }
    ada.run("group members ops -q -o name").is(0, "bob\nc-3\n", "");
    ada.run("check bob game.server.restart server:s1").is(0, "yes\n", "");
    let before = offset(&ada);
    for (what, file) in [("users", &users), ("groups", &groups), ("grants", &grants)] {
        let again = ada.run(&format!("import {what} {file} -o json")).done();
        assert!(all(&again, "unchanged"), "{again:?}");
    }
    assert_eq!(offset(&ada), before, "an import that changes nothing wrote something");

    // What differs is told, and changed when that is asked for.
    let users = ada.file("users.csv", "username,display_name\nbob,Robert\n");
    let told = ada.run(&format!("import users {users} -o json"));
    assert_eq!((told.code, outcomes(&told)), (5, vec![(2, "differs".to_owned())]), "{told:?}");
    assert_eq!(offset(&ada), before);
    ada.run(&format!("import users {users} --update")).done();
    assert_eq!(ada.run("user get bob -o json").json()["display_name"], "Robert");
}

#[test]
fn nobody_imports_what_he_could_not_do_line_by_line() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path());
    let ada = furnished(&server);
    for command in [
        "user create bob",
        "user create mallory",
        "grant allow mallory -p core.grant.manage -p game.server.read --on server:s1",
    ] {
        ada.run(command).done();
    }
    ada.run_with(&["user", "reset-password", "mallory", "--password-stdin"], crate::support::PASSWORD).done();
    let mallory = Home::at(&server);
    let login = ["login", "mallory", "--password-stdin"];
    mallory.run_with(&login, crate::support::PASSWORD).done();
    let grants = "subject,permissions,scope\n\
        bob,game.server.read,server:s1\n\
        mallory,game.server.restart,server:s1\n\
        bob,game.server.read,folder:eu\n";
    let grants = mallory.file("grants.csv", grants);
    let ran = mallory.run(&format!("import grants {grants} -o json"));
    let expected =
        [(2, "created"), (3, "refused"), (4, "refused")].map(|(line, what)| (line, what.to_owned()));
    assert_eq!((ran.code, outcomes(&ran)), (3, expected.to_vec()), "{ran:?}");
    assert!(ran.json()[1]["detail"].as_str().unwrap().contains("it takes game.server.restart"), "{ran:?}");
    let users = mallory.file("users.csv", "username\neve\n");
    let ran = mallory.run(&format!("import users {users} -o json"));
    assert_eq!((ran.code, all(&ran, "refused")), (3, true), "{ran:?}");
    // Nobody signed in: the first line ends it, and the others are not sent.
    let stranger = Home::at(&server);
    let grants = stranger.file("grants.csv", "subject,permissions\nbob,a.b.c\nbob,a.b.d\n");
    let ran = stranger.run(&format!("import grants {grants} -o json"));
    let expected = [(2, "refused"), (3, "not tried")].map(|(line, what)| (line, what.to_owned()));
    assert_eq!((ran.code, outcomes(&ran)), (4, expected.to_vec()), "{ran:?}");
}

#[test]
fn a_file_that_is_not_understood_is_not_carried_out_in_part() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path());
    let ada = server.set_up();
    let before = offset(&ada);
    let users = ada.file("users.csv", "username,email\nbob,\nNot A Name,\nbob,\n");
    let ran = ada.run(&format!("import users {users} -o json"));
    let expected =
        [(2, "not tried"), (3, "invalid"), (4, "invalid")].map(|(line, what)| (line, what.to_owned()));
    assert_eq!((ran.code, outcomes(&ran)), (2, expected.to_vec()), "{ran:?}");
    assert!(ran.stderr.contains("Nothing was sent"), "{ran:?}");
    for (name, text, says) in [
        ("a.csv", "username,password\nbob,secret\n", "no column `password`"),
        ("a.json", "{\"username\":\"bob\"}", "no list of objects"),
        ("a.txt", "username\nbob\n", "whether it is CSV or JSON"),
    ] {
        let file = ada.file(name, text);
        ada.run(&format!("import users {file}")).fails(2, says);
    }
    ada.run("import users nowhere.csv").fails(1, "nowhere.csv");
    assert_eq!(offset(&ada), before);
}

/// `bob` has something of every kind.
fn with_bob(server: &Server) -> Home {
    let ada = furnished(server);
    for command in [
        "user create bob --name =cmd",
        "group create ops",
        "group add ops bob",
        "grant allow group:ops --role viewer --on folder:eu",
        "grant allow bob -p game.server.restart --on server:s1 --until 30d",
        "grant deny bob -p game.server.read --on server:s1",
        "object create server:s2",
        "object transfer server:s2 bob",
    ] {
        ada.run(command).done();
    }
    ada
}

#[test]
fn a_review_tells_everything_somebody_has_and_from_where() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path());
    let ada = with_bob(&server);
    let review = ada.run("what bob --all -o json").done().json();
    assert_eq!(review["user"]["username"], "bob");
    assert_eq!(review["memberships"][0]["slug"], "ops");
    let grants: Vec<&Value> = review["grants"].as_array().unwrap().iter().collect();
    assert_eq!(grants.len(), 4, "two of his own, the owner's, his group's: {review}");
    assert_eq!(grants.iter().filter(|grant| grant["through"] == "ops").count(), 1);
    let roles: Vec<&str> =
        review["roles"].as_array().unwrap().iter().map(|role| role["slug"].as_str().unwrap()).collect();
    assert_eq!(roles, ["owner", "viewer"]);
    let at = |place: &str, key: &str| {
        let places = review["places"].as_array().unwrap();
        let there = places.iter().find(|found| found["place"] == place).unwrap();
        let mut rows = there["permissions"].as_array().unwrap().iter();
        rows.find(|row| row["permission"] == key).map(|row| row["state"].as_str().unwrap().to_owned())
    };
    assert_eq!(at("server:s1", "game.server.restart").as_deref(), Some("allowed"));
    assert_eq!(at("server:s1", "game.server.read").as_deref(), Some("denied"));
    assert_eq!(at("server:s2", "game.server.manage").as_deref(), Some("allowed"));
    assert_eq!(at("global", "game.server.read"), None);
    assert_eq!(review["owned"][0]["external_id"], "s2");
    assert_eq!(review["not_shown"], json!(["API tokens: everybody sees his own only"]));

    let paper = ada.run("what bob --all").done().stdout;
    for line in [
        "Access of bob",
        "Groups: 1",
        "Grants: 4",
        "Roles in these grants: 2",
        "Owned objects: 1",
        "group:ops",
    ] {
        assert!(paper.contains(line), "{line}: {paper}");
    }
    let sheet = ada.run("what bob --all -o csv").done().stdout;
    assert!(sheet.starts_with("section,place,what,state,through,begins,ends,detail\n"), "{sheet}");
    assert!(sheet.contains("permission,server:s1,game.server.read,denied,own grant at server:s1"), "{sheet}");
    assert!(sheet.contains(",'=cmd\n"), "a name is no formula: {sheet}");
}

#[test]
fn a_review_shows_no_more_than_may_be_seen_and_says_what_is_missing() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path());
    let ada = with_bob(&server);
    ada.run_with(&["user", "reset-password", "bob", "--password-stdin"], crate::support::PASSWORD).done();
    let bob = Home::at(&server);
    bob.run_with(&["login", "bob", "--password-stdin"], crate::support::PASSWORD).done();
    bob.run("token create laptop --until 7d -q").done();
    let own = bob.run("what me --all -o json").done().json();
    assert_eq!(own["tokens"][0]["name"], "laptop");
    assert_eq!(own["owned"][0]["external_id"], "s2");
    let missing = own["not_shown"].to_string();
    assert!(missing.contains("core.user.read"), "{missing}");
    // His lists are shorter than what there is, and the report does not pass for a whole one.
    for what in ["core.grant.read, platform-wide", "owned objects that you may not see"] {
        assert!(missing.contains(what), "{what}: {missing}");
    }
    ada.run("user create carol").done();
    ada.run_with(&["user", "reset-password", "carol", "--password-stdin"], crate::support::PASSWORD).done();
    let carol = Home::at(&server);
    carol.run_with(&["login", "carol", "--password-stdin"], crate::support::PASSWORD).done();
    carol.run("what ada --all").fails(3, "nothing of this user may be shown to you");
    ada.run("what bob server:s1 --all").fails(2, "cannot be used with");
    let past = ada.run("what bob --all --as-of 3 -o json");
    assert_ne!(past.code, 0, "bob was not there yet: {past:?}");
}
