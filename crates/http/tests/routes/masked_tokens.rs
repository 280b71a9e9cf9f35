//! A token that is narrowed to some permissions: whoever asks about himself with it is told what it may do, in every
//! question and on every row alike.

use crate::{
    authzen::question,
    authzen_agreement::{KEYS, OBJECTS, World},
    support::{Api, Reply},
};
use serde_json::{Value, json};

const WORLDS: u64 = 6;

/// What tokens are narrowed to: some of what is asked for, all of it, and with the right to ask or without.
const MASKS: [&[&str]; 6] = [
    &["lib.doc.read"],
    &["lib.doc.*", "core.folder.read"],
    &["core.*"],
    &["core.decision.read", "lib.doc.read"],
    &["core.decision.read", "core.grant.read", "lib.doc.edit", "lib.doc.share"],
    &["*"],
];

fn reaches(mask: &[&str], key: &str) -> bool {
    mask.iter().any(|item| match item.strip_suffix('*') {
        Some(beginning) => key.starts_with(beginning),
        None => *item == key,
    })
}

/// Somebody with the token he may do everything with, and a narrowed one.
struct Asker<'a> {
    api: &'a Api,
    name: &'a str,
    whole: String,
    narrow: String,
    mask: &'a [&'a str],
}

impl Asker<'_> {
    async fn ask(&self, path: &str, body: Value) -> Reply {
        self.api.by(&self.narrow, "POST", path, body).await
    }

    /// Whether the token may, and what every answer about that has to be.
    async fn may(&self, key: &str, object: Option<&str>) -> bool {
        let asked = json!({"permission": key, "object": object});
        let himself = self.api.by(&self.whole, "POST", "/check", asked.clone()).await;
        let may = himself.body["allowed"] == true && reaches(self.mask, key);
        let checked = self.ask("/check", asked.clone()).await;
        assert_eq!(checked.body["allowed"] == true, may, "{key} {object:?}: {}", checked.text);
        assert!(may || [200, 404].contains(&checked.status), "{}", checked.text);

        let named = json!({"user": self.name, "permission": key, "object": object});
        let named = self.ask("/check", named).await;
        let same =
            |reply: &Reply| (reply.status, reply.body["allowed"].clone(), reply.body["because"].clone());
        assert_eq!(same(&named), same(&checked), "by name: {key} {object:?}");
        let batch = json!({"checks": [{"permission": key, "object": object}]});
        let batch = self.ask("/check/batch", batch).await;
        assert_eq!(batch.status, checked.status, "{}", batch.text);
        let told = self.ask("/explain", asked).await;
        assert_eq!(told.status, checked.status, "{}", told.text);
        if checked.status == 200 {
            for member in ["allowed", "because", "grants"] {
                assert_eq!(batch.body["results"][0][member], checked.body[member], "{key} {object:?}");
                assert_eq!(told.body["decision"][member], checked.body[member], "{key} {object:?}");
            }
            assert_eq!(told.body["token_reaches"], reaches(self.mask, key));
            let only_the_token = himself.body["allowed"] == true && !may;
            assert_eq!(checked.body["because"] == "token_too_narrow", only_the_token, "{}", checked.text);
            let without = &told.body["without_token"];
            assert_eq!(*without != Value::Null, only_the_token, "{}", told.text);
            if only_the_token {
                assert_eq!(without["because"], himself.body["because"], "{}", told.text);
            }
        }
        let row = self.effective(key, object).await;
        assert_eq!(row["state"] == "allowed", may, "{key} {object:?}: {row}");
        if row != Value::Null && checked.status == 200 {
            assert_eq!(row["because"], checked.body["because"], "{key} {object:?}");
        }
        may
    }

    async fn effective(&self, key: &str, object: Option<&str>) -> Value {
        let reply = self.ask("/effective", json!({"object": object})).await;
        assert!([200, 404].contains(&reply.status), "{}", reply.text);
        let rows = reply.body["permissions"].as_array();
        rows.and_then(|rows| rows.iter().find(|row| row["permission"] == key)).cloned().unwrap_or_default()
    }

    /// What lists, rows and the words of the standard say of one key on one object.
    async fn lists_agree(&self, key: &str, (kind, name): (&str, &str), may: bool) {
        let object = format!("{kind}:{name}");
        let shown = format!("{} with {:?}: {key} on {object}", self.name, self.mask);
        let listed = self.ask("/allowed-objects", json!({"permission": key, "type": kind})).await.ok(200);
        assert_eq!(listed.texts("objects", "external_id").contains(&name.to_owned()), may, "{shown}");
        if !reaches(self.mask, key) {
            assert_eq!(listed.body["all"], false, "{shown}");
        }
        let row = self.api.by(&self.narrow, "GET", &format!("/objects/{kind}/{name}"), Value::Null).await;
        if row.status == 200 && kind == "doc" {
            let allowed = row.body["permissions"].as_array().unwrap().contains(&json!(key));
            assert_eq!(allowed, may, "{shown}: {}", row.text);
        }
        let who = self.ask("/who-can", json!({"permission": key, "object": object})).await;
        if who.status == 200 {
            let rows = who.body["users"].as_array().unwrap();
            let own = rows.iter().find(|row| row["user"]["username"] == self.name);
            let told = own.map(|row| row.get("token_reaches") != Some(&json!(false)));
            assert_eq!(told.unwrap_or(false), may, "{shown}: {}", who.text);
            assert!(
                rows.iter()
                    .all(|row| row["user"]["username"] == self.name || row.get("token_reaches").is_none())
            );
        }
        self.standard_agrees(key, (kind, name), may, &shown).await;
    }

    async fn standard_agrees(&self, key: &str, (kind, name): (&str, &str), may: bool, shown: &str) {
        let ask = async |path: &str| {
            let reply = self.ask(&format!("/access/v1/{path}"), question(self.name, key, (kind, name))).await;
            assert!([200, 403].contains(&reply.status), "{shown}: {}", reply.text);
            reply
        };
        let one = ask("evaluation").await;
        if one.status == 403 {
            return;
        }
        assert_eq!(one.body["decision"] == true, may, "{shown}: {}", one.text);
        let on = ask("search/resource").await;
        assert_eq!(on.texts("results", "id").contains(&name.to_owned()), may, "{shown}: {}", on.text);
        let to_do = ask("search/action").await.ok(200);
        if kind == "doc" && key.starts_with("lib.doc.") {
            let names = KEYS.iter().find(|(known, _)| *known == key).map_or(&[][..], |(_, names)| *names);
            let called = names.first().copied().unwrap_or(key).to_owned();
            assert_eq!(to_do.texts("results", "name").contains(&called), may, "{shown}: {}", to_do.text);
        }
        let who = ask("search/subject").await;
        if who.status == 200 && !who.body["results"].as_array().unwrap().is_empty() {
            let own = who.texts("results", "id").contains(&self.name.to_owned());
            assert_eq!(own, may, "{shown}: {}", who.text);
        }
    }
}

#[tokio::test]
async fn every_question_about_oneself_is_answered_for_the_token_it_is_asked_with() {
    let (mut yes, mut kept_out) = (0, 0);
    for seed in 0..WORLDS {
        let world = World::of(100 + seed).await;
        let api = &world.api;
        for (place, name) in ["ada", "u0", "u1"].into_iter().enumerate() {
            let mask = MASKS[(seed as usize + place) % MASKS.len()];
            let user = api.id_of(name);
            let (whole, narrow) = (api.token(user, None).await, api.token(user, Some(mask)).await);
            let asker = Asker { api, name, whole, narrow, mask };
            for (key, _) in KEYS {
                let mut here = Vec::new();
                for (kind, object) in OBJECTS {
                    let may = asker.may(key, Some(&format!("{kind}:{object}"))).await;
                    asker.lists_agree(key, (kind, object), may).await;
                    here.push(may);
                }
                let platform_wide = asker.may(key, None).await;
                let me = api.by(&asker.narrow, "GET", "/user/me", Value::Null).await.ok(200);
                let listed = me.body["permissions"].as_array().unwrap().contains(&json!(key));
                assert_eq!(listed, platform_wide, "{name} {key}: {}", me.text);
                assert_eq!(me.body["administrator"], name == "ada" && mask.contains(&"*"), "{name} {mask:?}");
                yes += here.iter().filter(|may| **may).count();
                kept_out += usize::from(!reaches(mask, key));
            }
        }
    }
    assert!(yes > 50 && kept_out > 20, "the worlds show both: {yes} {kept_out}");
}
