//! Every verb against a real server: exit code, stdout, stderr.

use crate::support::{Home, PASSWORD, Server, finish, masked};

const CATALOG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/minecraft.yaml");

/// A server with a catalog, and the home of its administrator.
fn prepared(data: &std::path::Path) -> (Server, Home) {
    let server = Server::start(data);
    let ada = server.set_up();
    ada.run(&format!("catalog apply {CATALOG}")).done();
    (server, ada)
}

#[test]
fn the_first_administrator_is_whoever_has_the_code() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path());
    let code = server.code.clone().unwrap();
    assert!(
        server.banner.contains(&format!("setup --code {code} --server {}", server.url)),
        "{}",
        server.banner
    );
    let home = Home::at(&server);
    let setup = |code: &str| {
        home.run_with(&["setup", "--code", code, "--username", "ada", "--password-stdin"], PASSWORD)
    };

    home.run("whoami").fails(4, "hint: `charter login` signs you in");
    home.run_with(&["setup", "--code", &code, "--username", "Ada", "--password-stdin"], PASSWORD)
        .fails(2, "`Ada` is not a valid name");
    assert_ne!(setup("00000-00000").code, 0);
    home.run_with(&["setup", "--code", &code, "--username", "ada", "--password-stdin"], "short")
        .fails(1, "password");
    let ran = setup(&code).done();
    assert!(
        ran.stderr.starts_with("ada is the first administrator of this installation.\nSigned in as ada"),
        "{}",
        ran.stderr
    );
    setup(&code).fails(5, "this installation is set up already");

    let me = home.run("whoami -o json").json();
    assert_eq!((&me["user"]["username"], &me["administrator"]), (&"ada".into(), &true.into()));
    assert!(home.run("whoami").stdout.contains("platform-wide: `charter what me` lists them"));
}

#[test]
fn signing_in_and_out_is_kept_in_the_context_file() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path());
    let home = server.set_up();
    home.run("session ls -o json").done();
    home.run("logout").is(0, "", "Signed out.\n");
    home.run("whoami").fails(4, "login");
    home.run("logout").is(4, "", "error: nobody is signed in\n");
    home.run_with(&["login", "ada", "--password-stdin"], "wrong wrong wrong").fails(4, "error: ");
    home.run_with(&["login", "ada", "--password-stdin"], PASSWORD).done();
    home.run("whoami -o name").is(0, "ada\n", "");
    let kept = std::fs::read_to_string(home.path(".config/charter/contexts.toml")).unwrap();
    assert!(kept.contains("chs_"));
    // The secret of one server is never sent to another.
    let other = tempfile::tempdir().unwrap();
    let second = Server::start(other.path());
    let elsewhere = home.command().env("CHARTER_SERVER", &second.url).arg("whoami").output().unwrap();
    assert_eq!(elsewhere.status.code(), Some(4));

    let changed =
        home.run_with(&["password", "--password-stdin"], &format!("{PASSWORD}\nanother long password\n"));
    changed.done();
    home.run("session end-all --yes").done();
    home.run("whoami").fails(4, "login");
    home.run_with(&["login", "ada", "--password-stdin"], "another long password").done();
}

#[test]
fn a_token_speaks_for_its_owner_until_it_is_revoked() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path());
    let ada = server.set_up();
    let issued = ada.run("token create ci --until 30d").done();
    assert_eq!(issued.stderr, "Keep this secret: it is shown once.\n");
    let secret = issued.stdout.trim().to_owned();
    let robot = Home::at(&server);
    let with_token = |args: &[&str]| {
        let mut command = robot.command();
        finish(command.env("CHARTER_TOKEN", &secret).args(args), "")
    };
    assert_eq!(with_token(&["whoami", "-o", "name"]).stdout, "ada\n");
    let file = robot.file("token", &format!("{secret}\n"));
    robot.run(&format!("whoami -o name --token-file {file}")).is(0, "ada\n", "");
    let id = ada.run("token ls -o name").stdout.trim().to_owned();
    ada.run(&format!("token revoke {id}")).fails(2, "add `--yes`");
    ada.run(&format!("token revoke {id} --yes")).done();
    with_token(&["whoami"]).fails(4, "error: ");
}

#[test]
fn users_are_created_changed_suspended_and_scheduled_for_deletion() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path());
    let ada = server.set_up();
    ada.run_with(&["user", "create", "bob", "--name", "Bob B", "--email", "bob@example.com"], "").is(
        0,
        "",
        "User bob created.\n",
    );
    ada.run("user create bob").fails(5, "error: ");
    ada.run("user create Bob").fails(2, "`Bob` is not a valid name");
    ada.run("user create robot --kind service").done();
    ada.run("user edit bob").fails(2, "nothing to change");
    ada.run_with(&["user", "edit", "bob", "--email", ""], "").is(0, "", "User bob changed.\n");
    assert!(ada.run("user get bob -o json").json().get("email").is_none_or(serde_json::Value::is_null));
    ada.run("user suspend bob").is(0, "", "User bob suspended.\n");
    assert_eq!(ada.run("user get bob -o json").json()["status"], "suspended");
    ada.run("user reactivate bob").is(0, "", "User bob reactivated.\n");
    ada.run("user identity show bob").is(0, "", "User bob is linked to no identity.\n");
    let linked = "User bob is linked; all his sessions ended.\n";
    ada.run("user identity set bob --issuer https://id.example.org --subject 42").is(0, "", linked);
    assert_eq!(ada.run("user identity show bob -o json").json()["subject"], "42");
    ada.run("user identity set bob --issuer http://id.example.org --subject 42").fails(2, "an issuer is");
    ada.run("user identity remove bob").fails(2, "add `--yes`");
    let unlinked = "User bob is linked to no identity; all his sessions ended.\n";
    ada.run("user identity remove bob --yes").is(0, "", unlinked);
    ada.run_with(&["user", "reset-password", "bob", "--password-stdin"], PASSWORD).done();
    let bob = Home::at(&server);
    bob.run_with(&["login", "bob", "--password-stdin"], PASSWORD).done();
    bob.run("user ls").fails(3, "hint: it takes core.user.read");
    ada.run("user rm bob").fails(2, "add `--yes`");
    ada.run("user rm bob --yes").is(0, "", "User bob awaits deletion.\n");
    bob.run("whoami").fails(4, "error: ");
    ada.run("user restore bob").is(0, "", "User bob restored.\n");
    ada.run("user get nobody").fails(1, "error: ");
    ada.run("user suspend ada").fails(5, "(last_administrator)");
    assert_eq!(ada.run("user ls -o name").stdout, "ada\nbob\nrobot\n");
}

#[test]
fn roles_are_created_edited_and_deleted() {
    let data = tempfile::tempdir().unwrap();
    let (_server, ada) = prepared(data.path());
    let create = "role create keeper --scope object -p minecraft.world.* -p minecraft.server.read";
    ada.run(create).is(0, "", "Role keeper created.\n");
    ada.run(create).fails(5, "error: ");
    ada.run("role create ghost -p minecraft.ghost.see").fails(1, "error: ");
    ada.run("role edit keeper --add minecraft.server.restart --remove minecraft.server.read").is(
        0,
        "",
        "Role keeper changed.\n",
    );
    ada.run("role edit keeper --remove minecraft.server.read")
        .fails(1, "the role does not hold `minecraft.server.read`");
    ada.run("role edit keeper").fails(2, "nothing to change");
    let role = ada.run("role get keeper -o json").json();
    assert_eq!(role["permissions"], serde_json::json!(["minecraft.server.restart", "minecraft.world.*"]));
    ada.run("role rm owner --yes").fails(5, "error: ");
    ada.run("role rm keeper --yes").is(0, "", "Role keeper deleted.\n");
    ada.run("role get keeper").fails(1, "error: ");
    assert_eq!(ada.run("role ls -o name").stdout, "administrator\nowner\nviewer\noperator\n");
}

#[test]
fn groups_gain_and_lose_members() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path());
    let ada = server.set_up();
    ada.run("user create bob").done();
    ada.run_with(&["group", "create", "ops", "--name", "Operations"], "").is(0, "", "Group ops created.\n");
    ada.run("group add ops bob ada").is(0, "", "bob is in ops.\nada is in ops.\n");
    ada.run("group members ops -o name").is(0, "ada\nbob\n", "");
    ada.run("group ls").is(0, "GROUP  NAME        MEMBERS\nops    Operations  2\n", "");
    ada.run("group remove ops bob").is(0, "", "bob is not in ops any more.\n");
    ada.run("group add ops nobody").fails(1, "error: ");
    ada.run("group edit ops --name Crew").is(0, "", "Group ops changed.\n");
    ada.run("group rm ops --yes").is(0, "", "Group ops deleted.\n");
    ada.run("group get ops").fails(1, "error: ");
}

#[test]
fn objects_lie_in_folders_move_and_change_owners() {
    let data = tempfile::tempdir().unwrap();
    let (_server, ada) = prepared(data.path());
    ada.run("user create bob").done();
    ada.run("folder create eu --name Europe").is(0, "", "Object folder:eu created.\n");
    ada.run("folder create inner --in eu").done();
    ada.run("object create server:s1 --in folder:inner").is(0, "", "Object server:s1 created.\n");
    ada.run("object create server:s1").fails(5, "error: ");
    ada.run("object create server").fails(2, "`--name` is missing");
    ada.run("object create ghost:g1").fails(1, "error: ");
    ada.run("object mv folder:eu inner").fails(5, "error: ");
    ada.run("object mv server:s1 --top").is(0, "", "Object server:s1 moved.\n");
    ada.run("object inherit server:s1 off").is(0, "", "Object server:s1 does not inherit.\n");
    ada.run("object transfer server:s1 bob").is(0, "", "Object server:s1 has another owner.\n");
    let object = ada.run("object get server:s1 -o json").json();
    assert_eq!((&object["owner"]["username"], &object["inherits"]), (&"bob".into(), &false.into()));
    ada.run_with(&["object", "edit", "server:s1", "--name", "Survival"], "").is(
        0,
        "",
        "Object server:s1 changed.\n",
    );
    assert!(ada.run("object access server:s1").stdout.contains("user:bob"), "the owner grant is shown");
    ada.run("object get s1").fails(2, "`s1` names no object");
    ada.run("folder rm eu --yes").fails(5, "(not_empty)");
    ada.run("folder rm inner --yes").done();
    ada.run("folder ls -o name").is(0, "folder:eu\n", "");
    ada.run("object rm server:s1 --yes").is(0, "", "Object server:s1 deleted.\n");
}

#[test]
fn grants_are_issued_listed_and_revoked() {
    let data = tempfile::tempdir().unwrap();
    let (_server, ada) = prepared(data.path());
    for command in ["user create bob", "folder create eu", "object create server:s1 --in eu"] {
        ada.run(command).done();
    }
    let allow = "grant allow bob -p minecraft.server.restart --on folder:eu --affects children-only --child-types objects --until 1h";
    let ran = ada.run(allow).done();
    assert_eq!(masked(&ran.stderr), "Grant <id> issued.\n");
    ada.run("grant allow bob --role nothing --on folder:eu").fails(1, "error: ");
    ada.run("grant deny bob -p minecraft.server.restart -p minecraft.server.stop --on server:s1").done();
    let listed = ada.run("grant ls --to bob").done();
    let rows: Vec<Vec<String>> =
        masked(&listed.stdout).lines().map(|l| l.split_whitespace().map(str::to_owned).collect()).collect();
    assert_eq!(rows[0], ["GRANT", "EFFECT", "TO", "WHAT", "ON", "REACH", "UNTIL", "LIVE"]);
    let allow = "<id> allow user:bob minecraft.server.restart folder:eu children_only, objects <time> yes";
    assert_eq!(rows[1].join(" "), allow);
    let deny = "<id> deny user:bob minecraft.server.restart, minecraft.server.stop server:s1 - - yes";
    assert_eq!(rows[2].join(" "), deny);
    let on_server = ada.run("grant ls --to bob --on server:s1 -o name").done();
    let id = on_server.stdout.trim();
    assert!(ada.run(&format!("grant get {id}")).stdout.contains("deny"));
    ada.run(&format!("grant revoke {id}")).fails(2, "add `--yes`");
    ada.run(&format!("grant revoke {id} --yes")).done();
    ada.run(&format!("grant get {id}")).fails(1, "error: ");
}

#[test]
fn questions_exit_with_their_answer() {
    let data = tempfile::tempdir().unwrap();
    let (_server, ada) = prepared(data.path());
    for command in [
        "user create bob",
        "folder create eu",
        "object create server:s1 --in eu",
        "grant allow bob -p minecraft.server.restart --on folder:eu",
    ] {
        ada.run(command).done();
    }
    ada.run("check bob minecraft.server.restart server:s1").is(0, "yes\n", "");
    ada.run("check bob minecraft.server.stop server:s1").is(3, "no\n", "");
    ada.run("check me minecraft.server.stop server:s1").is(0, "yes\n", "");
    // What does not exist is an error, never a no.
    ada.run("check bob minecraft.server.explode server:s1").fails(1, "error: ");
    ada.run("check bob minecraft.server.restart server:s2").fails(1, "error: ");
    ada.run("check nobody minecraft.server.restart server:s1").fails(1, "error: ");
    ada.run("who minecraft.server.restart server:s1 -o name").is(0, "ada\nbob\n", "");
    ada.run("what bob server:s1 -q -o name").is(0, "minecraft.server.restart\n", "");
    ada.run("what bob server:s1 -o name").fails(0, "more are not set: `--unset` lists them.");
    ada.run("where bob minecraft.server.restart server -o name").is(0, "server:s1\n", "");
    let why = ada.run("why bob minecraft.server.restart server:s1 -o json").json();
    assert_eq!(why["decision"]["because"], "grant");
    assert_eq!(ada.run("why bob minecraft.server.stop server:s1").code, 3);
}

#[test]
fn catalogs_are_applied_whole_and_listed() {
    let data = tempfile::tempdir().unwrap();
    let (_server, ada) = prepared(data.path());
    ada.run(&format!("catalog apply {CATALOG}")).is(
        0,
        "Namespace minecraft stands: 16 permissions, 2 object types.\n",
        "",
    );
    assert!(
        ada.run("permission ls --namespace minecraft -o name").stdout.contains("minecraft.world.reset\n")
    );
    assert!(ada.run("permission ls --type world -o name").stdout.contains("minecraft.world.read\n"));
    assert!(
        ada.run("permission ls --namespace minecraft --tree").stdout.starts_with("minecraft\n  console\n")
    );
    assert!(ada.run("permission types -o name").stdout.contains("server\n"));
    let nameless = ada.file("nameless.yaml", "permissions: []\n");
    ada.run(&format!("catalog apply {nameless}")).fails(2, "names no `namespace`");
    let misspelt = ada.file("misspelt.yaml", "namespace: x\npermisions: []\n");
    ada.run(&format!("catalog apply {misspelt}")).fails(2, "is no catalog");
    let core = ada.file("core.yaml", "namespace: core\npermissions: []\n");
    assert_ne!(ada.run(&format!("catalog apply {core}")).code, 0);
}

#[test]
fn what_happened_is_listed_with_its_reason() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path());
    let ada = server.set_up();
    ada.run_with(&["group", "create", "ops", "--reason", "the new crew"], "").done();
    let all = ada.run("events ls -o jsonl").done();
    let last: serde_json::Value = serde_json::from_str(all.stdout.lines().last().unwrap()).unwrap();
    assert_eq!((&last["type"], &last["reason"]), (&"group.created".into(), &"the new crew".into()));
    let some = ada.run("events ls --limit 2 -o name");
    some.is(0, "1\n2\n", "There are more than these 2: `--limit` shows more, `--after` goes on.\n");
}

#[test]
fn the_example_fills_an_empty_installation_and_its_questions_have_their_answers() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path());
    let ada = server.set_up();
    let questions = ada.run("demo -o json").done().json();
    let questions = questions.as_array().unwrap();
    assert_eq!(questions.len(), 5);
    for question in questions {
        let command = question["command"].as_str().unwrap();
        let ran = ada.run(command.strip_prefix("charter ").unwrap());
        assert_eq!(
            i64::from(ran.code),
            question["exit_code"].as_i64().unwrap(),
            "{command}: {}{}",
            ran.stdout,
            ran.stderr
        );
    }
    ada.run("demo").fails(5, "this installation is not empty");
}

#[test]
fn a_data_folder_is_examined_beside_its_server_and_recovered_without_it() {
    let data = tempfile::tempdir().unwrap();
    let folder = data.path().display().to_string();
    let server = Server::start(data.path());
    let ada = server.set_up();
    ada.run(&format!("verify --data {folder}")).done();
    let doctor = ada.run(&format!("doctor --data {folder}")).done();
    assert!(doctor.stdout.contains("verify") && !doctor.stdout.contains("WRONG"), "{}", doctor.stdout);
    let recover = ["recover-admin", "--data", &folder, "--username", "eve", "--password-stdin"];
    ada.run_with(&recover, PASSWORD).fails(1, "stop the server");
    assert_eq!(server.stop("-TERM"), 0);

    ada.run_with(&recover, PASSWORD).is(
        0,
        "",
        "eve was created and is an administrator: start the server, then `charter login eve`.\n",
    );

    let server = Server::start(data.path());
    assert_eq!(server.code, None);
    let eve = Home::at(&server);
    eve.run_with(&["login", "eve", "--password-stdin"], PASSWORD).done();
    assert_eq!(eve.run("whoami -o json").json()["administrator"], true);
    let events = eve.run("events ls -o json").json();
    let recovery = events.as_array().unwrap().iter().find(|event| event["via"] == "cli").unwrap().clone();
    assert_eq!(recovery["actor"]["kind"], "system");
    assert_eq!(server.stop("-INT"), 0);
}

#[test]
fn a_generated_log_verifies_and_can_be_served() {
    let home = Home::new();
    let ran = home.run("bench gen --size X --seed 7 --out log").done();
    assert!(ran.stdout.ends_with(" events in log\n"), "{}", ran.stdout);
    home.run("bench gen --size X --out log").fails(5, "`log` is not empty");
    home.run("verify --data log").done();
    home.run("doctor --data log").done();
    drop(Server::start(&home.path("log")));
}
