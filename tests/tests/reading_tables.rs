//! Reading the tables with plain SQL, as `docs/tables.md` promises: each example there, on both databases.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use charter_tests::{Caller, Database, Installation, Server, eventually, on_both_databases};
use serde_json::{Value, json};

const DOCUMENT: &str = include_str!("../../docs/tables.md");

/// The examples of the document.
fn examples() -> Vec<&'static str> {
    DOCUMENT.split("```sql\n").skip(1).map(|rest| rest.split("```").next().unwrap().trim()).collect()
}

/// What the document has a role of the database say, for the names of this one.
fn said_by(role: &str, database: &charter_services::Database, auditor: &str) -> String {
    let opening = format!("```sql {role}\n");
    let blocks = DOCUMENT.split(&opening).skip(1);
    let text: String = blocks.map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(text.contains(" TO auditor;"), "the document has nothing for the {role}");
    let text = text.replace("DATABASE charter ", &format!("DATABASE {} ", database.name));
    text.replace("TO auditor;", &format!("TO {auditor};"))
}

/// Has the roles of an installation let an auditor in as the document says, and tells his URL.
async fn auditor_of(database: &charter_services::Database) -> String {
    use sqlx::Connection as _;
    let auditor = format!("{}_auditor", database.name);
    database.sql(&format!("CREATE ROLE {auditor} LOGIN PASSWORD 'reads'")).unwrap();
    for (role, url) in [("owner", &database.owner_url), ("server", &database.server_url)] {
        let mut connection = sqlx::PgConnection::connect(url).await.unwrap();
        let said = said_by(role, database, &auditor);
        let done = sqlx::raw_sql(sqlx::AssertSqlSafe(said.clone())).execute(&mut connection).await;
        done.unwrap_or_else(|error| panic!("the {role} can't: {error}\n{said}"));
    }
    let place = database.server_url.rsplit_once('@').unwrap().1;
    format!("postgres://{auditor}:reads@{place}")
}

#[tokio::test]
async fn an_auditors_role_reads_the_views_also_after_a_rebuild_and_nothing_else() {
    use sqlx::Connection as _;
    let installation = Installation::new(Database::Postgres).unwrap();
    let server = Server::start(&installation).await.unwrap();
    let admin = server.set_up().await.unwrap();
    admin.get("/api/v1/audit").await.unwrap().expect(200).unwrap();
    let built = async || {
        let told = admin.get("/api/v1/projections").await.unwrap().expect(200).unwrap();
        told.body["items"].as_array().unwrap().iter().all(read)
    };
    eventually("every projection is read", 60, built).await.unwrap();
    let database = installation.database().unwrap();
    let url = auditor_of(database).await;
    let rebuilt =
        admin.post("/api/v1/projections/directory/rebuild", &json!({})).await.unwrap().expect(202).unwrap();
    let at = format!("/api/v1/operations/{}", rebuilt.body["id"].as_str().unwrap());
    let done = async || admin.get(&at).await.unwrap().body["state"] == "done";
    eventually("the rebuild is done", 60, done).await.unwrap();
    let mut connection = sqlx::PgConnection::connect(&url).await.unwrap();
    for table in ["users", "groups", "objects", "grants", "access_entries", "audit_entries"] {
        let count = sqlx::AssertSqlSafe(format!("SELECT count(*) FROM tables.{table}"));
        let counted: Result<i64, _> = sqlx::query_scalar(count).fetch_one(&mut connection).await;
        counted.unwrap_or_else(|error| panic!("{table}: {error}"));
    }
    for refused in ["DELETE FROM tables.groups", "SELECT count(*) FROM log.events"] {
        let error = sqlx::query(refused).execute(&mut connection).await.unwrap_err();
        assert!(error.to_string().contains("permission denied"), "{refused}: {error}");
    }
    drop(connection);
    server.stop().unwrap();
}

/// Something of everything the examples ask for.
async fn furnish(admin: &Caller) {
    let key = |action: &str| {
        let key = format!("minecraft.server.{action}");
        json!({"key": key, "description": action, "object_types": ["server"]})
    };
    let keys = ["read", "create", "manage", "restart"].map(key);
    let catalog = json!({
        "permissions": keys,
        "object_types": [{"name": "server", "read": "minecraft.server.read", "create": "minecraft.server.create",
                          "manage": "minecraft.server.manage", "aliases": {}}],
    });
    admin.put("/api/v1/catalog/minecraft", &catalog).await.unwrap().expect(200).unwrap();
    let post = async |path: &str, body: Value| {
        admin.post(&format!("/api/v1{path}"), &body).await.unwrap().expect(201).unwrap();
    };
    post("/users", json!({"kind": "person", "username": "bob"})).await;
    post("/groups", json!({"slug": "crew", "name": "Crew"})).await;
    let joined = admin.request(reqwest::Method::PUT, "/api/v1/groups/crew/members/bob");
    admin.send(joined).await.unwrap().expect(204).unwrap();
    post("/objects", json!({"type": "server", "name": "One", "external_id": "s1"})).await;
    let grant = |subject: &str| {
        json!({"subject": subject, "permissions": ["minecraft.server.restart"], "scope": "server:s1",
               "expires_at": "2999-01-01T00:00:00Z"})
    };
    post("/grants", grant("group:crew")).await;
    post("/grants", grant("user:bob")).await;
}

async fn every_example_of_the_document_answers(installation: Installation) {
    let server = Server::start(&installation).await.unwrap();
    let admin = server.set_up().await.unwrap();
    furnish(&admin).await;
    // An answer from the tables is at least as new as what was just done, or is none.
    let told = admin.get("/api/v1/audit?subject=group:crew&type=grant").await.unwrap().expect(200).unwrap();
    assert_eq!(told.body["items"][0]["type"], "grant.issued");
    let all_there = async || {
        let told = admin.get("/api/v1/projections").await.unwrap().expect(200).unwrap();
        let items = told.body["items"].as_array().unwrap().clone();
        items.iter().all(|projection| projection["behind"] == 0 && read(projection))
    };
    eventually("every projection is read, and at the log's end", 60, all_there).await.unwrap();
    assert_eq!(examples().len(), 6);
    for example in examples() {
        let rows = match installation.kind() {
            Database::Sqlite => rows_in_file(&installation, example).await,
            Database::Postgres => rows_in_database(&installation, example).await,
        };
        assert!(rows > 0, "nothing is found by\n{example}");
    }
    server.stop().unwrap();
}

fn read(projection: &Value) -> bool {
    projection["generations"].as_array().unwrap().iter().any(|generation| generation["active"] == true)
}

async fn rows_in_file(installation: &Installation, example: &'static str) -> usize {
    use sqlx::Connection as _;
    let file = installation.data(0).join("tables.db");
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(file).read_only(true);
    let mut connection = sqlx::SqliteConnection::connect_with(&options).await.unwrap();
    let rows = sqlx::query(example).fetch_all(&mut connection).await;
    rows.unwrap_or_else(|error| panic!("{error}\n{example}")).len()
}

async fn rows_in_database(installation: &Installation, example: &'static str) -> usize {
    use sqlx::Connection as _;
    let url = installation.database().unwrap().superuser_url();
    let mut connection = sqlx::PgConnection::connect(&url).await.unwrap();
    sqlx::query("SET search_path TO tables").execute(&mut connection).await.unwrap();
    let rows = sqlx::query(example).fetch_all(&mut connection).await;
    rows.unwrap_or_else(|error| panic!("{error}\n{example}")).len()
}

on_both_databases!(every_example_of_the_document_answers);
