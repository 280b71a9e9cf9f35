//! Sessions of browsers: the cookie that holds one, and what keeps other sites from making use of it.
//!
//! A browser sends a cookie by itself, whichever site made it ask. So a request that comes with one is judged first: it
//! must come from this installation's own pages, and, unless it only reads, must say so in three ways that no other
//! site's page can.

use crate::{HttpConfig, PublicUrl, problem::Problem};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use charter_events::Timestamp;

/// The header a page sends with whatever changes something: no form can, and no script of another site unasked.
pub(crate) const BY_PAGE: HeaderName = HeaderName::from_static("x-charter-request");
/// Which site made the browser ask.
pub(crate) const FROM_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Whether browsers reach this installation by TLS alone.
fn is_secure(config: &HttpConfig) -> bool {
    config.encrypted || config.public_url.as_ref().is_some_and(PublicUrl::is_secure)
}

/// The cookie's name. With `__Host-` a browser takes it from this very host and by TLS only: no neighbouring site can
/// plant one.
fn name(config: &HttpConfig) -> &'static str {
    if is_secure(config) { "__Host-charter" } else { "charter" }
}

/// The secret in the cookie of a request, if there is one.
///
/// # Errors
/// 400 when there are two.
pub(crate) fn secret<'a>(config: &HttpConfig, headers: &'a HeaderMap) -> Result<Option<&'a str>, Problem> {
    value(name(config), headers)
}

/// What a cookie of this name holds.
fn value<'a>(name: &str, headers: &'a HeaderMap) -> Result<Option<&'a str>, Problem> {
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let mut found = pairs.filter(|(known, _)| *known == name).map(|(_, value)| value);
    match (found.next(), found.next()) {
        (one, None) => Ok(one),
        (_, Some(_)) => Err(Problem::invalid_header("Cookie", "it holds two sessions")),
    }
}

/// The header that has a browser keep a session.
pub(crate) fn kept(
    config: &HttpConfig,
    secret: &str,
    now: Timestamp,
    expires_at: Timestamp,
) -> Option<HeaderValue> {
    let seconds = expires_at.as_micros().saturating_sub(now.as_micros()).max(0) / 1_000_000;
    let mut value = HeaderValue::from_str(&line(config, secret, seconds)).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// The header that has a browser forget it.
pub(crate) fn forgotten(config: &HttpConfig) -> Option<HeaderValue> {
    HeaderValue::from_str(&line(config, "", 0)).ok()
}

fn line(config: &HttpConfig, secret: &str, seconds: i64) -> String {
    format!("{}={secret}; {}", name(config), attributes(config, "Strict", seconds))
}

fn attributes(config: &HttpConfig, same_site: &str, seconds: i64) -> String {
    let secure = if is_secure(config) { "; Secure" } else { "" };
    format!("Path=/; Max-Age={seconds}; HttpOnly; SameSite={same_site}{secure}")
}

/// The cookie of a browser on its way to an identity provider and back.
fn on_the_way(config: &HttpConfig) -> &'static str {
    if is_secure(config) { "__Host-charter-oidc" } else { "charter-oidc" }
}

/// What a browser that comes back brings along, if it does.
///
/// # Errors
/// 400 when it is there twice.
pub(crate) fn brought_back<'a>(
    config: &HttpConfig,
    headers: &'a HeaderMap,
) -> Result<Option<&'a str>, Problem> {
    value(on_the_way(config), headers)
}

/// The header that has a browser take something along to a provider and bring it back, from the provider's own page
/// too: hence not `Strict`. It is of use only together with what the provider gives it.
pub(crate) fn taken_along(config: &HttpConfig, sealed: &str, seconds: i64) -> Option<HeaderValue> {
    let line = format!("{}={sealed}; {}", on_the_way(config), attributes(config, "Lax", seconds));
    let mut value = HeaderValue::from_str(&line).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// The header that has it forgotten.
pub(crate) fn arrived(config: &HttpConfig) -> Option<HeaderValue> {
    taken_along(config, "", 0)
}

/// Refuses what another site may have had a browser send.
///
/// # Errors
/// 403 `cross_site`.
pub(crate) fn require_own_site(
    config: &HttpConfig,
    method: &Method,
    headers: &HeaderMap,
) -> Result<(), Problem> {
    let reads = [Method::GET, Method::HEAD].contains(method);
    let site = single(headers, &FROM_SITE)?;
    // `none`: the person himself, by the address bar. Nothing but a read comes that way.
    let is_own = site.is_none_or(|site| site == "same-origin" || (reads && site == "none"));
    if !is_own {
        return Err(Problem::cross_site("another site had the browser send it"));
    }
    let origin = single(headers, &header::ORIGIN)?;
    match origin {
        None if reads => {}
        None => return Err(Problem::cross_site("it does not say by `Origin` where it comes from")),
        Some(origin) if is_own_origin(config, origin, headers) => {}
        Some(_) => return Err(Problem::cross_site("it comes from the page of another site")),
    }
    if !reads && single(headers, &BY_PAGE)?.is_none_or(str::is_empty) {
        return Err(Problem::cross_site("a page sends `X-Charter-Request` with whatever changes something"));
    }
    Ok(())
}

/// Whether an origin is this installation: its public address, or, where that is not known, the host that was asked.
fn is_own_origin(config: &HttpConfig, origin: &str, headers: &HeaderMap) -> bool {
    match &config.public_url {
        Some(url) => url.as_str().eq_ignore_ascii_case(origin),
        None => {
            let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
            let of = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
            host.is_some_and(|host| of.is_some_and(|of| of.eq_ignore_ascii_case(host)))
        }
    }
}

/// A header that is sent once, if at all.
fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, Problem> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => {
            value.to_str().map(Some).map_err(|_| Problem::cross_site("a header of it can't be read"))
        }
        (Some(_), Some(_)) => Err(Problem::cross_site("it says twice where it comes from")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(public_url: Option<&str>) -> HttpConfig {
        HttpConfig { public_url: public_url.map(|url| url.parse().unwrap()), ..HttpConfig::default() }
    }

    fn sent(headers: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        map
    }

    #[test]
    fn a_cookie_is_kept_from_scripts_other_sites_and_where_there_is_tls_from_plain_text() {
        let moment = |second: i64| Timestamp::from_micros(second * 1_000_000).unwrap();
        let line_of = |config: &HttpConfig| {
            let value = kept(config, "chs_x", moment(10), moment(70)).unwrap();
            assert!(!format!("{value:?}").contains("chs_x"));
            value.to_str().unwrap().to_owned()
        };
        let line = |public_url| line_of(&config(public_url));
        assert_eq!(
            line(Some("https://charter.example")),
            "__Host-charter=chs_x; Path=/; Max-Age=60; HttpOnly; SameSite=Strict; Secure"
        );
        assert_eq!(line(None), "charter=chs_x; Path=/; Max-Age=60; HttpOnly; SameSite=Strict");
        let encrypted = HttpConfig { encrypted: true, ..config(None) };
        assert!(
            line_of(&encrypted).starts_with("__Host-charter=") && line_of(&encrypted).ends_with("; Secure")
        );
        let forgotten = forgotten(&config(None)).unwrap();
        assert_eq!(forgotten.to_str().unwrap(), "charter=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict");
    }

    #[test]
    fn what_is_taken_along_to_a_provider_comes_back_from_its_page_and_is_no_session() {
        let secure = config(Some("https://charter.example"));
        let line = taken_along(&secure, "sealed", 600).unwrap();
        assert_eq!(
            line.to_str().unwrap(),
            "__Host-charter-oidc=sealed; Path=/; Max-Age=600; HttpOnly; SameSite=Lax; Secure"
        );
        assert!(!format!("{line:?}").contains("sealed"));
        let headers = sent(&[("cookie", "__Host-charter-oidc=sealed")]);
        assert_eq!(brought_back(&secure, &headers).ok(), Some(Some("sealed")));
        assert_eq!(secret(&secure, &headers).ok(), Some(None));
        assert_eq!(brought_back(&secure, &sent(&[("cookie", "charter-oidc=planted")])).ok(), Some(None));
        assert!(brought_back(&config(None), &sent(&[("cookie", "charter-oidc=1; charter-oidc=2")])).is_err());
        assert!(
            arrived(&config(None)).unwrap().to_str().unwrap().starts_with("charter-oidc=; Path=/; Max-Age=0")
        );
    }

    #[test]
    fn the_secret_is_that_of_the_one_cookie_with_its_name() {
        let secure = config(Some("https://charter.example"));
        let read = |config: &HttpConfig, line| {
            secret(config, &sent(&[("cookie", line)])).map(|found| found.map(str::to_owned)).map_err(|_| ())
        };
        assert_eq!(read(&secure, "a=b; __Host-charter=chs_x; c=d"), Ok(Some("chs_x".to_owned())));
        assert_eq!(read(&secure, "charter=chs_x"), Ok(None), "one that anybody nearby could plant");
        assert_eq!(read(&config(None), "xcharter=1; charter=chs_x"), Ok(Some("chs_x".to_owned())));
        assert_eq!(read(&config(None), "charter=1; charter=2"), Err(()));
        assert_eq!(read(&config(None), ""), Ok(None));
    }

    #[test]
    fn only_a_page_of_the_installation_changes_something() {
        let own = [("host", "charter.example"), ("origin", "https://charter.example")];
        let page = [own[0], own[1], ("x-charter-request", "1")];
        let may = |method: Method, headers: &[(&'static str, &'static str)]| {
            require_own_site(&config(Some("https://charter.example")), &method, &sent(headers)).is_ok()
        };
        assert!(may(Method::POST, &page));
        assert!(may(Method::POST, &[&page[..], &[("sec-fetch-site", "same-origin")]].concat()));
        assert!(!may(Method::POST, &own), "without the page's own header");
        assert!(!may(Method::POST, &[page[0], page[2]]), "without an origin");
        for origin in
            ["null", "https://evil.example", "http://charter.example", "https://charter.example:444", ""]
        {
            assert!(!may(Method::DELETE, &[("origin", origin), page[0], page[2]]), "{origin}");
            assert!(!may(Method::GET, &[("origin", origin)]), "{origin}");
        }
        for site in ["cross-site", "same-site", "none", "x"] {
            assert!(!may(Method::PUT, &[&page[..], &[("sec-fetch-site", site)]].concat()), "{site}");
        }
        assert!(may(Method::GET, &[]) && may(Method::GET, &[("sec-fetch-site", "none")]));
        assert!(!may(Method::GET, &[("sec-fetch-site", "cross-site")]));
        assert!(!may(Method::POST, &[&page[..], &[("origin", "https://evil.example")]].concat()), "twice");
        // Where the installation does not know its address, the host that was asked counts.
        let at = |host, origin| {
            let headers = sent(&[("host", host), ("origin", origin), ("x-charter-request", "1")]);
            require_own_site(&config(None), &Method::POST, &headers).is_ok()
        };
        assert!(at("127.0.0.1:7400", "http://127.0.0.1:7400") && at("x.example", "https://x.example"));
        assert!(!at("127.0.0.1:7400", "http://127.0.0.1:7401") && !at("x.example", "null"));
    }
}
