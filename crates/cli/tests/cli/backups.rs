//! Backups on the host: taken from a folder without a server or from a database beside one, verified, and restored
//! into something empty; and every refusal, after which nothing has changed.

use crate::{
    databases::{both, migrated},
    support::{Home, PASSWORD, Server},
};
use charter_services::Database;
use std::path::{Path, PathBuf};

/// An installation with an administrator and somebody with a name.
fn filled(data: &Path, variables: &[(&str, &str)]) -> Server {
    let server = Server::start_with(data, variables);
    let ada = server.set_up();
    ada.run_with(&["user", "create", "grace", "--name", "Grace Hopper", "--password-stdin"], PASSWORD).done();
    server
}

/// The one file in a folder whose name ends so.
fn only(folder: &Path, ending: &str) -> PathBuf {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut found = files.filter(|path| path.extension().is_some_and(|found| found == ending));
    let file = found.next().unwrap();
    assert_eq!(found.next(), None);
    file
}

/// Signs in at a restored installation with a password that was set on the host, and asks for a name.
fn is_usable(home: &Home, data: &Path, variables: &[(&str, &str)], name: Option<&str>) {
    let mut recover = home.command();
    recover.envs(variables.iter().copied());
    recover.args(["recover-admin", "--username", "ada", "--password-stdin", "--data"]).arg(data);
    crate::support::finish(&mut recover, PASSWORD).done();
    let server = Server::start_with(data, variables);
    let ada = Home::at(&server);
    ada.run_with(&["login", "ada", "--password-stdin"], PASSWORD).done();
    let users = ada.run("user ls -o json").done().json();
    let names: Vec<_> =
        users.as_array().unwrap().iter().filter_map(|user| user["display_name"].as_str()).collect();
    assert_eq!(names.contains(&"Grace Hopper"), name.is_some(), "{users}");
    ada.run_with(&["login", "grace", "--password-stdin"], PASSWORD).fails(4, "");
    assert_eq!(server.stop("-TERM"), 0);
}

#[test]
fn a_folder_is_backed_up_without_its_server_and_restored_with_names_or_without() {
    let home = Home::new();
    let data = home.path("data");
    let server = filled(&data, &[]);
    let data = data.display();
    home.run(&format!("backup --offline --data {data}")).fails(1, "without `--offline` the server takes");
    assert_eq!(server.stop("-TERM"), 0);
    let taken = home.run(&format!("backup --offline --data {data} --reason nightly")).done();
    let folder = home.path("data/backups");
    let (file, keys) = (only(&folder, "backup"), only(&folder, "keys"));
    assert!(taken.stdout.contains(&file.display().to_string()), "{taken:?}");
    assert!(taken.stdout.contains("the keys of 2 users in `"), "{taken:?}");
    let (file, keys) = (file.display(), keys.display());
    let verified = home.run(&format!("backup verify {file} --keys {keys} -o json")).done().json();
    assert_eq!((&verified["users_with_key"], &verified["users_without_key"]), (&2.into(), &0.into()));
    assert!(taken.stdout.contains(verified["sha256"].as_str().unwrap()));
    let again = home.run(&format!("backup --offline --data {data} -o json")).done().json();
    let result = &again["result"];
    let path = result["file"].as_str().unwrap();
    assert_eq!(result["bytes"], std::fs::metadata(home.path(path)).unwrap().len());
    assert!(again["detail"].as_str().unwrap().starts_with(&format!("`{path}`: events up to")), "{again}");
    let named = home.run(&format!("backup --offline --data {data} -o name")).done().stdout;
    assert!(home.path(named.trim_end()).is_file(), "{named}");
    let log = home.run(&format!("replay export --data {data}")).done().stdout;
    assert!(log.contains("\"operations.backup_taken\"") && log.contains("\"nightly\""), "{log}");

    let restored = home.run(&format!("restore {file} --keys {keys} --data there")).done();
    assert!(restored.stdout.contains(&format!("up to offset {}, as of", verified["head"])), "{restored:?}");
    assert!(restored.stderr.contains("`charter recover-admin`"), "{restored:?}");
    assert!(!restored.stderr.contains("names stay sealed"), "{restored:?}");
    is_usable(&home, &home.path("there"), &[], Some("Grace Hopper"));
    let sealed = home.run(&format!("restore {file} --data sealed")).done();
    assert!(sealed.stderr.contains("2 users have no key, so their names stay sealed"), "{sealed:?}");
    is_usable(&home, &home.path("sealed"), &[], None);
}

#[test]
fn a_database_is_backed_up_beside_its_server_and_restored_into_another() {
    let home = Home::new();
    let (from, to) = (migrated(&home), Database::fresh("restored").unwrap());
    let data = tempfile::tempdir().unwrap();
    let server = filled(data.path(), &both(&from));
    home.run_in(&both(&from), "backup --offline").fails(2, "`--backups FOLDER` names one");
    home.run_in(&both(&from), "backup --offline --backups kept").done();
    let (file, keys) = (only(&home.path("kept"), "backup"), only(&home.path("kept"), "keys"));
    let (file, keys) = (file.display(), keys.display());
    let refused = home.run_in(&both(&from), &format!("restore {file}"));
    refused.fails(5, "the store is not empty: it holds log ");
    home.run_in(&both(&to), &format!("restore {file} --keys {keys}")).done();
    is_usable(&home, &home.path("data"), &both(&to), Some("Grace Hopper"));
    assert_eq!(server.stop("-TERM"), 0);
}

#[test]
fn what_is_cut_or_altered_or_of_another_log_is_refused_and_nothing_is_made() {
    let home = Home::new();
    assert_eq!(filled(&home.path("data"), &[]).stop("-TERM"), 0);
    home.run("backup --offline --data data").done();
    let (file, keys) = (only(&home.path("data/backups"), "backup"), only(&home.path("data/backups"), "keys"));
    let whole = std::fs::read(&file).unwrap();
    std::fs::write(home.path("cut"), &whole[..whole.len() - 40]).unwrap();
    let mut altered = whole.clone();
    let at = whole.len() / 2;
    altered[at] ^= 1;
    std::fs::write(home.path("altered"), altered).unwrap();
    for wrong in ["cut", "altered", "data/charter.db"] {
        let says = format!("`{wrong}` is not a backup as it was written: line ");
        home.run(&format!("backup verify {wrong}")).fails(1, &says);
        home.run(&format!("restore {wrong} --data there")).fails(1, &says);
    }
    assert_eq!(filled(&home.path("other"), &[]).stop("-TERM"), 0);
    home.run("backup --offline --data other").done();
    let others = only(&home.path("other/backups"), "keys").display().to_string();
    let file = file.display();
    home.run(&format!("restore {file} --keys {others} --data there")).fails(5, "the keys belong to log ");
    home.run(&format!("restore {file} --keys {file} --data there")).fails(1, "is not a file of keys");
    home.run(&format!("restore {file} --keep-passwords --data there")).fails(2, "--keys");
    assert!(!home.path("there").exists());
    home.run(&format!("restore {file} --keys {} --data data", keys.display()))
        .fails(5, "the store is not empty");
}

#[test]
fn the_only_copy_of_a_key_is_not_replaced_by_an_installation_that_lacks_it() {
    let home = Home::new();
    assert_eq!(filled(&home.path("data"), &[]).stop("-TERM"), 0);
    home.run("backup --offline --data data").done();
    let (file, keys) = (only(&home.path("data/backups"), "backup"), only(&home.path("data/backups"), "keys"));
    let before = std::fs::read(&keys).unwrap();
    home.run(&format!("restore {} --data there", file.display())).done();
    let refused = home.run("backup --offline --data there --backups data/backups");
    refused.fails(1, "the file of keys has the keys of 2 users that the installation lacks");
    assert_eq!(std::fs::read(&keys).unwrap(), before);
    std::fs::rename(&keys, home.path("safe.keys")).unwrap();
    home.run("backup --offline --data there --backups data/backups").done();
}
