//! Questions about the past, asked of a server and of its log alone.

use crate::support::{Home, Server};

const RESTART: &str = "minecraft.server.restart";

fn head(home: &Home) -> String {
    home.run("events ls -o json --limit 500").done().json().as_array().unwrap().last().unwrap()["offset"]
        .to_string()
}

#[test]
fn what_was_allowed_is_told_by_the_server_and_by_the_log_alone() {
    let data = Home::new();
    let server = Server::start(&data.path("data"));
    let ada = server.set_up();
    ada.run("demo").done();
    ada.run_with(&["user", "create", "kim", "--name", "Kim", "--password-stdin"], crate::support::PASSWORD)
        .done();
    let grant = ada.run(&format!("grant allow kim -p {RESTART} --on server:survival -o name")).done();
    let held = head(&ada);
    ada.run(&format!("grant revoke {} --yes", grant.stdout.trim())).done();
    let revoked = head(&ada);
    let question = format!("kim {RESTART} server:survival");

    ada.run(&format!("check {question}")).is(3, "no\n", "");
    let told = format!("As of version {held}, <time>.\n");
    ada.run(&format!("check {question} --as-of {held}")).is(0, "yes\n", &told);
    ada.run(&format!("why {question} --as-of {held} -o json")).done();
    assert!(ada.run(&format!("who {RESTART} server:survival --as-of {held}")).done().stdout.contains("kim"));
    assert!(
        !ada.run(&format!("who {RESTART} server:survival --as-of {revoked}")).done().stdout.contains("kim")
    );
    assert!(ada.run(&format!("what kim server:survival --as-of {held}")).done().stdout.contains(RESTART));
    assert!(
        ada.run(&format!("where kim {RESTART} server --as-of {held}")).done().stdout.contains("survival")
    );
    let id = grant.stdout.trim();
    assert!(ada.run(&format!("grant ls --to kim --as-of {held} -o json")).done().stdout.contains(id));
    assert!(!ada.run(&format!("grant ls --to kim --as-of {revoked} -o json")).done().stdout.contains(id));
    assert!(
        ada.run(&format!("object access server:survival --as-of {held} -o json")).done().stdout.contains(id)
    );
    ada.run(&format!("role get viewer --as-of {held}")).done();
    ada.run(&format!("check {question} --as-of 1000000")).fails(1, "beyond_head");
    ada.run(&format!("check {question} --as-of yesterday")).fails(2, "`yesterday` is no offset, no time");

    let file = data.path("log.jsonl").display().to_string();
    let folder = data.path("data").display().to_string();
    data.run(&format!("replay export --data {folder} --out {file}")).done();
    let kim = ada.run("user get kim -o json").done().json()["id"].as_str().unwrap().to_owned();
    for from in [format!("--data {folder}"), format!("--file {file}")] {
        for (version, code) in [(&held, 0), (&revoked, 3)] {
            let asks = format!("--user {kim} --permission {RESTART} --object server:survival");
            let ran = data.run(&format!("replay as-of {version} {from} {asks} -o json"));
            assert_eq!((ran.code, &ran.json()["allowed"]), (code, &(code == 0).into()), "{ran:?}");
            assert_eq!(ran.json()["policy_version"].to_string(), *version);
            let who = data.run(&format!(
                "replay as-of {version} {from} --permission {RESTART} --object server:survival"
            ));
            assert_eq!(who.done().stdout.contains(&kim), code == 0);
        }
        let all = data.run(&format!("replay as-of {revoked} {from} -o json")).done().json();
        assert_eq!(all["version"].to_string(), revoked);
        let rows = data.run(&format!("replay inventory {from} -o json")).done().json();
        assert_eq!(rows["events"], rows["head"]);
        let of = |name: &str| {
            let kinds = rows["kinds"].as_array().unwrap();
            kinds.iter().find(|kind| kind["type"] == name).unwrap().clone()
        };
        assert_eq!(
            (&of("grant.revoked")["events"], &of("grant.revoked")["readable"]),
            (&1.into(), &true.into())
        );
        data.run(&format!("replay as-of 0 {from}")).fails(1, "before the first command");
        data.run(&format!("replay as-of 2999-01-01T00:00:00Z {from}")).fails(1, "beyond the end of the log");
        data.run(&format!("replay as-of 5 {from} --object server:survival")).fails(2, "asks nothing");
    }
    let by_name = format!("--user kim --permission {RESTART} --object server:survival");
    assert_eq!(data.run(&format!("replay as-of {held} --data {folder} {by_name}")).code, 0);
    data.run(&format!("replay as-of {held} --file {file} {by_name}")).fails(2, "names are sealed");
    let verified = data.run(&format!("replay verify --data {folder} -o json")).done().json();
    let whole = data.run(&format!("replay as-of {} --data {folder} -o json", verified["head"])).done().json();
    assert_eq!(whole["state_digest"], verified["state_digest"]);
}

#[test]
fn what_a_log_alone_tells_is_told_as_the_server_tells_it_and_of_one_log_only() {
    let data = Home::new();
    let server = Server::start(&data.path("data"));
    let ada = server.set_up();
    ada.run("demo").done();
    ada.run_with(&["user", "create", "kim", "--password-stdin"], crate::support::PASSWORD).done();
    ada.run(&format!("grant allow kim -p {RESTART} --on server:survival")).done();
    let (held, kim) = (head(&ada), ada.run("user get kim -o json").done().json()["id"].clone());
    let kim = kim.as_str().unwrap();
    let file = data.path("log.jsonl").display().to_string();
    let folder = data.path("data").display().to_string();
    data.run(&format!("replay export --data {folder} --out {file}")).done();

    let server_told = ada.run("what kim server:survival").done().stdout;
    for from in [format!("--data {folder}"), format!("--file {file}")] {
        let asks = format!("{from} --user {kim} --object server:survival");
        let told = data.run(&format!("replay as-of {held} {asks}")).done();
        assert!(told.stdout.contains("own grant at server:survival"), "{told:?}");
        assert_eq!(told.stdout, server_told);
        let told = data.run(&format!("replay as-of {held} {asks} --permission {RESTART}")).done();
        assert!(told.stdout.ends_with("grant, 1 grant\n"), "{told:?}");
    }
    let as_of = format!("replay as-of {held}");
    for reads in ["replay verify", "replay inventory", as_of.as_str()] {
        data.run(&format!("{reads} --data {folder} --file {file}")).fails(2, "`--data` names one");
        data.run_in(&[("CHARTER_DATA", &folder)], &format!("{reads} --file {file}")).done();
    }
}

#[test]
fn what_is_no_version_ends_every_question_alike() {
    let data = Home::new();
    let server = Server::start(&data.path("data"));
    let ada = server.set_up();
    let data = format!("--data {}", data.path("data").display());
    for asks in [
        "diff --from yesterday".to_owned(),
        "audit --from yesterday".to_owned(),
        "check ada core.user.read --as-of yesterday".to_owned(),
        format!("replay diff --from yesterday {data}"),
        format!("replay as-of yesterday {data}"),
    ] {
        ada.run(&asks).fails(2, "`yesterday` is no offset, no time");
    }
    ada.run("diff --from 0s").done();
    ada.run("audit --from 1h").done();
}
