//! The pages that links in letters lead to. Each is a file of its own, the same for everybody: what a link holds stands
//! behind `#` in its address and reaches no server but in the body of the request that the page's script sends.
//!
//! Nothing on a page is written inline, and nothing comes from anywhere else: [`ONLY_OURS`] has browsers hold to that.

use crate::ask::Visit;
use axum::{
    http::{HeaderName, HeaderValue, header},
    response::{IntoResponse, Response},
};

/// What a page may load, and whom it may talk to: this server, and nobody else. No form of it is ever sent.
const ONLY_OURS: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                         form-action 'none'; frame-ancestors 'none'; base-uri 'none'";

const HTML: &str = "text/html; charset=utf-8";

/// Where the link of an invitation leads: whoever has it chooses a password.
#[utoipa::path(get, path = "/invitation", operation_id = "invitation_page", tag = "pages",
    responses((status = 200, description = "The page", body = String, content_type = "text/html")))]
pub(crate) async fn invitation(_: Visit) -> Response {
    file(HTML, include_str!("invitation.html"))
}

/// Where a link for another password leads.
#[utoipa::path(get, path = "/reset-password", operation_id = "reset_password_page", tag = "pages",
    responses((status = 200, description = "The page", body = String, content_type = "text/html")))]
pub(crate) async fn reset_password(_: Visit) -> Response {
    file(HTML, include_str!("reset-password.html"))
}

/// The pages' script.
#[utoipa::path(get, path = "/assets/links.js", operation_id = "pages_script", tag = "pages",
    responses((status = 200, description = "The script", body = String, content_type = "text/javascript")))]
pub(crate) async fn script(_: Visit) -> Response {
    file("text/javascript; charset=utf-8", include_str!("links.js"))
}

/// How the pages look.
#[utoipa::path(get, path = "/assets/links.css", operation_id = "pages_style", tag = "pages",
    responses((status = 200, description = "The stylesheet", body = String, content_type = "text/css")))]
pub(crate) async fn style(_: Visit) -> Response {
    file("text/css; charset=utf-8", include_str!("links.css"))
}

/// A file, as a browser is to take it. The headers every answer has are added around it.
fn file(content_type: &'static str, text: &'static str) -> Response {
    let headers: [(HeaderName, HeaderValue); 2] = [
        (header::CONTENT_TYPE, HeaderValue::from_static(content_type)),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(ONLY_OURS)),
    ];
    (headers, text).into_response()
}
