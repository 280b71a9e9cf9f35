//! A provider is a user like any other: no guard is further away than on the native routes, and what can't be done
//! whole is not done at all.

use super::{GROUP, Provider, USER};
use crate::support::Api;
use charter_commands::EraseUser;
use charter_control::{Request, RequestMeta};
use charter_events::{UserId, Via};
use charter_policy::Caller;
use serde_json::{Value, json};

/// An installation with `administrators` and `readers`, each with a role, and somebody to add.
async fn prepared(api: &Api) -> (String, String, String) {
    let admin = Provider::admin(api).await;
    let bob = admin.user("bob").await;
    let (strong, weak) = (admin.group("Administrators", &[]).await, admin.group("Readers", &[]).await);
    for (group, role) in [(&strong, "administrator"), (&weak, "provisioning")] {
        let grant = json!({"subject": format!("group:{group}"), "role": role, "scope": "global"});
        api.admin("POST", "/grants", grant).await.ok(201);
    }
    (bob, strong, weak)
}

#[tokio::test]
async fn nobody_is_added_to_a_group_that_grants_more_than_the_tokens_owner_may_give() {
    let api = Api::new().await;
    let delegate = Provider::delegate(&api).await;
    let (bob, strong, weak) = prepared(&api).await;
    let own = delegate.api.id_of("provider").to_string();
    let head = api.head();
    for user in [&bob, &own] {
        let at = format!("/Groups/{strong}");
        for operation in [
            json!({"op": "add", "path": "members", "value": [{"value": user}]}),
            json!({"op": "replace", "path": "members", "value": [{"value": user}]}),
            json!({"op": "add", "value": {"displayName": "Renamed", "members": [{"value": user}]}}),
        ] {
            let refused = delegate.patch(&at, json!([operation])).await.fault(403, None);
            assert!(refused.body["detail"].as_str().unwrap().contains("missing: *"), "{}", refused.text);
        }
        let put = json!({"schemas": [GROUP], "displayName": "Renamed", "members": [{"value": user}]});
        delegate.send("PUT", &at, put).await.fault(403, None);
    }
    api.unchanged_since(head);
    // What he holds himself he may give.
    let add = json!([{"op": "add", "path": "members", "value": [{"value": bob}]}]);
    assert_eq!(delegate.patch(&format!("/Groups/{weak}"), add).await.ok(200).members(), [bob.as_str()]);
}

#[tokio::test]
async fn one_member_who_may_not_come_or_go_keeps_all_others_where_they_are() {
    let api = Api::new().await;
    let delegate = Provider::delegate(&api).await;
    let (bob, strong, _) = prepared(&api).await;
    let admin = Provider::admin(&api).await;
    admin
        .patch(
            &format!("/Groups/{strong}"),
            json!([{"op": "add", "path": "members", "value": [{"value": bob}]}]),
        )
        .await
        .ok(200);
    let head = api.head();
    let at = format!("/Groups/{strong}");
    let gone = json!([{"op": "replace", "path": "externalId", "value": "x"},
                      {"op": "remove", "path": format!("members[value eq \"{bob}\"]")}]);
    delegate.patch(&at, gone).await.fault(403, None);
    api.unchanged_since(head);
    assert_eq!(admin.get(&at).await.ok(200).members(), [bob.as_str()]);
    assert!(admin.get(&at).await.ok(200).body.get("externalId").is_none());
}

#[tokio::test]
async fn a_stronger_user_is_neither_renamed_nor_suspended_nor_deleted() {
    let api = Api::new().await;
    let delegate = Provider::delegate(&api).await;
    let ada = api.id_of("ada").to_string();
    let at = format!("Users/{ada}");
    let head = api.head();
    for operations in [
        json!([{"op": "replace", "path": "userName", "value": "mine"}]),
        json!([{"op": "add", "path": "externalId", "value": "mine"}]),
        json!([{"op": "add", "path": "emails", "value": [{"value": "mine@example.com"}]}]),
        json!([{"op": "replace", "path": "active", "value": false}]),
        json!([{"op": "replace", "value": {"displayName": "x", "active": false}}]),
    ] {
        delegate.patch(&at, operations).await.fault(403, None);
    }
    delegate.call("DELETE", &at).send().await.fault(403, None);
    api.unchanged_since(head);
    // The last administrator stays, whoever asks.
    let admin = Provider::admin(&api).await;
    let head = api.head();
    admin.patch(&at, json!([{"op": "replace", "path": "active", "value": false}])).await.fault(409, None);
    let both = json!([{"op": "replace", "path": "displayName", "value": "x"}, {"op": "replace", "path": "active", "value": false}]);
    admin.patch(&at, both).await.fault(409, None);
    admin.call("DELETE", &at).send().await.fault(409, None);
    api.unchanged_since(head);
}

#[tokio::test]
async fn a_change_of_several_things_that_is_refused_in_one_changes_none() {
    let api = Api::new().await;
    let weak = api.user("clerk").await;
    api.give("user:clerk", &["core.user.read", "core.user.edit"], "global").await;
    let admin = Provider::admin(&api).await;
    let bob = admin.user("bob").await;
    let clerk = Provider { api: &api, token: weak };
    let head = api.head();
    let both = json!([{"op": "add", "path": "displayName", "value": "Bob"}, {"op": "replace", "path": "active", "value": false}]);
    clerk.patch(&format!("Users/{bob}"), both).await.fault(403, None);
    api.unchanged_since(head);
    let new = json!({"schemas": [GROUP], "displayName": "G", "members": [{"value": bob}]});
    api.give("user:clerk", &["core.group.read", "core.group.create"], "global").await;
    let head = api.head();
    clerk.send("POST", "/Groups", new).await.fault(403, None);
    api.give("user:clerk", &["core.user.create"], "global").await;
    let after_grant = api.head();
    let new = json!({"schemas": [USER], "userName": "x", "active": false});
    clerk.send("POST", "/Users", new).await.fault(403, None);
    api.unchanged_since(after_grant);
    assert!(after_grant > head);
    assert!(admin.found(&format!("/Users?filter={}", super::encoded("userName eq \"x\""))).await.is_empty());
}

#[tokio::test]
async fn who_may_change_and_not_read_is_shown_nothing_and_changes_nothing() {
    let api = Api::new().await;
    let admin = Provider::admin(&api).await;
    let (bob, group) = (admin.user("bob").await, admin.group("Ops", &[]).await);
    let token = api.user("blind").await;
    let keys =
        ["core.user.create", "core.user.edit", "core.group.create", "core.group.manage", "core.group.edit"];
    api.give("user:blind", &keys, "global").await;
    let blind = Provider { api: &api, token };
    let head = api.head();
    let user = json!({"schemas": [USER], "userName": "new"});
    blind.send("POST", "/Users", user.clone()).await.fault(403, None);
    blind.send("PUT", &format!("Users/{bob}"), user).await.fault(403, None);
    let patch = json!([{"op": "replace", "path": "displayName", "value": "x"}]);
    blind.patch(&format!("Users/{bob}"), patch.clone()).await.fault(403, None);
    blind.patch(&format!("/Groups/{group}"), patch).await.fault(403, None);
    blind.send("POST", "/Groups", json!({"schemas": [GROUP], "displayName": "x"})).await.fault(403, None);
    blind.send("POST", "/.search", json!({"schemas": [super::SEARCH]})).await.fault(403, None);
    api.unchanged_since(head);
}

/// His names stay his until he is erased, for he can be restored; what is made after that is another.
#[tokio::test]
async fn a_user_made_again_after_his_erasure_inherits_nothing() {
    let api = Api::new().await;
    let provider = Provider::admin(&api).await;
    let new = json!({"schemas": [USER], "userName": "alice@example.com", "externalId": "00u1"});
    let made = provider.send("POST", "/Users", new.clone()).await.ok(201);
    let old = made.body["id"].as_str().unwrap().to_owned();
    let user = UserId::new(old.parse().unwrap());
    let group = provider.group("Ops", &[&old]).await;
    api.give(&format!("user:{old}"), &["core.user.read"], "global").await;
    let gone = Provider { api: &api, token: api.token(user, None).await };
    gone.get("/Users").await.ok(200);
    let soon = api.control.now().saturating_add_micros(50_000);
    let schedule = json!({"erase_at": soon});
    api.admin("POST", &format!("/users/{old}/schedule-deletion"), schedule).await.ok(200);
    provider.send("POST", "/Users", new.clone()).await.fault(409, Some("uniqueness"));
    gone.get("/Users").await.fault(401, None);
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    let erase = EraseUser { user }.into();
    api.control.submit(Request::new(Caller::System, erase, RequestMeta::new(Via::System))).await.unwrap();
    let again = provider.send("POST", "/Users", new).await.ok(201);
    assert_ne!(again.body["id"], old.as_str());
    assert!(again.body.get("groups").is_none(), "{}", again.text);
    assert!(provider.get(&format!("/Groups/{group}")).await.ok(200).members().is_empty());
    let grants = format!("/grants?subject=user:{}", again.body["id"].as_str().unwrap());
    assert_eq!(api.admin("GET", &grants, Value::Null).await.ok(200).body["items"], json!([]));
    gone.get("/Users").await.fault(401, None);
}

#[tokio::test]
async fn a_strangers_answer_says_nothing_of_what_is_there() {
    let api = Api::new().await;
    let admin = Provider::admin(&api).await;
    let (bob, group) = (admin.user("bob").await, admin.group("Ops", &[]).await);
    let nobody = Provider { token: api.user("nobody").await, api: &api };
    let missing = "00000000-0000-7000-8000-000000000009";
    for (kind, there) in [("Users", bob), ("Groups", group)] {
        let one = nobody.get(&format!("/{kind}/{there}")).await.fault(403, None);
        let other = nobody.get(&format!("/{kind}/{missing}")).await.fault(403, None);
        assert_eq!(one.text, other.text);
    }
    let head = api.head();
    api.call("GET", "/scim/v2/Users").send().await.fault(401, None);
    api.unchanged_since(head);
    assert_eq!(nobody.get("/ServiceProviderConfig").await.ok(200).body["patch"], json!({"supported": true}));
    let _: Value = nobody.get("/Nothing").await.fault(404, None).body;
}
