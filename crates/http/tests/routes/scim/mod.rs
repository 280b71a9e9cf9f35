//! `/scim/v2`: users and groups as an identity provider sends them.

mod filters;
mod groups;
mod guards;
mod messages;
mod users;

use crate::support::{Api, Call, Reply};
use serde_json::{Value, json};

pub(crate) const USER: &str = "urn:ietf:params:scim:schemas:core:2.0:User";
pub(crate) const GROUP: &str = "urn:ietf:params:scim:schemas:core:2.0:Group";
pub(crate) const PATCH: &str = "urn:ietf:params:scim:api:messages:2.0:PatchOp";
pub(crate) const SEARCH: &str = "urn:ietf:params:scim:api:messages:2.0:SearchRequest";
pub(crate) const ERROR: &str = "urn:ietf:params:scim:api:messages:2.0:Error";

/// Everything a provider needs to keep people and groups in step, in the roles of a delegate.
pub(crate) const PROVISIONING: [&str; 9] = [
    "core.user.read",
    "core.user.create",
    "core.user.edit",
    "core.user.suspend",
    "core.user.delete",
    "core.group.read",
    "core.group.create",
    "core.group.edit",
    "core.group.manage",
];

/// A provider's way in: somebody's token.
pub(crate) struct Provider<'a> {
    pub(crate) api: &'a Api,
    pub(crate) token: String,
}

impl<'a> Provider<'a> {
    /// The administrator himself.
    pub(crate) async fn admin(api: &'a Api) -> Self {
        Self { token: api.token(api.id_of("ada"), None).await, api }
    }

    /// A delegate with what provisioning takes, and nothing else.
    pub(crate) async fn delegate(api: &'a Api) -> Self {
        let token = api.user("provider").await;
        let role = json!({"slug": "provisioning", "scope": "global", "permissions": PROVISIONING});
        api.admin("POST", "/roles", role).await.ok(201);
        let grant = json!({"subject": "user:provider", "role": "provisioning", "scope": "global"});
        api.admin("POST", "/grants", grant).await.ok(201);
        Self { token, api }
    }

    pub(crate) fn call(&self, method: &str, path: &str) -> Call<'a> {
        self.api.call(method, &rooted(path)).by(&self.token)
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        self.call("GET", path).send().await
    }

    pub(crate) async fn send(&self, method: &str, path: &str, body: Value) -> Reply {
        self.call(method, path).raw("application/scim+json", body.to_string().as_bytes()).send().await
    }

    pub(crate) async fn patch(&self, path: &str, operations: Value) -> Reply {
        self.send("PATCH", path, json!({"schemas": [PATCH], "Operations": operations})).await
    }

    /// A new user's id.
    pub(crate) async fn user(&self, user_name: &str) -> String {
        let made = self.send("POST", "/Users", json!({"schemas": [USER], "userName": user_name})).await;
        made.ok(201).body["id"].as_str().unwrap().to_owned()
    }

    /// A new group's id.
    pub(crate) async fn group(&self, name: &str, members: &[&str]) -> String {
        let members: Vec<Value> = members.iter().map(|user| json!({"value": user})).collect();
        let body = json!({"schemas": [GROUP], "displayName": name, "members": members});
        self.send("POST", "/Groups", body).await.ok(201).body["id"].as_str().unwrap().to_owned()
    }

    /// The ids a list answers with.
    pub(crate) async fn found(&self, path: &str) -> Vec<String> {
        self.get(path).await.ok(200).ids("Resources")
    }
}

impl Reply {
    /// Refused in SCIM's own form.
    #[track_caller]
    pub(crate) fn fault(self, status: u16, scim_type: Option<&str>) -> Self {
        assert_eq!(self.status, status, "{}", self.text);
        assert_eq!(self.body["scimType"].as_str(), scim_type, "{}", self.text);
        assert_eq!(self.body["schemas"], json!([ERROR]), "{}", self.text);
        assert_eq!(self.body["status"], status.to_string(), "{}", self.text);
        assert!(self.body["detail"].as_str().is_some_and(|detail| !detail.is_empty()), "{}", self.text);
        assert_eq!(self.header("content-type"), "application/scim+json");
        self
    }

    /// The ids of a group's members, sorted.
    pub(crate) fn members(&self) -> Vec<String> {
        let members = self.body["members"].as_array().cloned().unwrap_or_default();
        let mut ids: Vec<String> =
            members.iter().map(|member| member["value"].as_str().unwrap().to_owned()).collect();
        ids.sort();
        ids
    }
}

/// A path below the root, with a slash before it or not.
pub(crate) fn rooted(path: &str) -> String {
    let slash = if path.is_empty() || path.starts_with('/') { "" } else { "/" };
    format!("/scim/v2{slash}{path}")
}

/// What a query may hold.
pub(crate) fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}
