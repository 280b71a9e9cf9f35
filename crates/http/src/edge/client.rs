//! Whom a request comes from, by address: the other end of the connection, or, when that is a proxy that is trusted,
//! the nearest address behind it that is not. What anybody else says of addresses is not believed.

use axum::http::{HeaderMap, Request};
use ipnet::IpNet;
use std::{
    net::{IpAddr, SocketAddr},
    task::{Context, Poll},
};
use tower::Service;

/// How many proxies are gone back over.
const HOPS_MAX: usize = 32;

/// The other end of a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer {
    pub(crate) address: SocketAddr,
    /// Whether what is said on it is encrypted.
    pub(crate) encrypted: bool,
}

/// A service whose requests know the connection they came on.
#[derive(Clone)]
pub(super) struct Introduced<S> {
    pub(super) inner: S,
    pub(super) peer: Peer,
}

impl<S: Service<Request<B>>, B> Service<Request<B>> for Introduced<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<B>) -> S::Future {
        request.extensions_mut().insert(self.peer);
        self.inner.call(request)
    }
}

/// The address a request is from.
pub(crate) fn client(peer: Peer, headers: &HeaderMap, trusted: &[IpNet]) -> IpAddr {
    let is_trusted = |address: &IpAddr| trusted.iter().any(|network| network.contains(address));
    let mut client = peer.address.ip().to_canonical();
    if !is_trusted(&client) {
        return client;
    }
    for hop in told(headers).into_iter().rev().take(HOPS_MAX) {
        // What can't be read was not written by a proxy that is trusted.
        let Some(address) = hop else { break };
        client = address;
        if !is_trusted(&client) {
            break;
        }
    }
    client
}

/// The addresses the headers tell, the nearest last. Of two kinds of header at once it is not known which one the
/// proxy wrote: neither counts.
fn told(headers: &HeaderMap) -> Vec<Option<IpAddr>> {
    let elements = |name: &str, of: fn(&str) -> Option<IpAddr>| -> Vec<Option<IpAddr>> {
        let values = headers.get_all(name).iter().map(|value| value.to_str().unwrap_or("?"));
        values.flat_map(|value| value.split(',')).map(of).collect()
    };
    let (plain, standard) = (elements("x-forwarded-for", address), elements("forwarded", for_of));
    match (plain.is_empty(), standard.is_empty()) {
        (false, true) => plain,
        (true, false) => standard,
        _ => Vec::new(),
    }
}

/// An address, with or without a port, IPv6 with or without brackets.
fn address(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    let plain = text.parse::<IpAddr>().or_else(|_| text.parse::<SocketAddr>().map(|address| address.ip()));
    let bracketed = || text.strip_prefix('[')?.strip_suffix(']')?.parse::<IpAddr>().ok();
    plain.ok().or_else(bracketed).map(|address| address.to_canonical())
}

/// The `for` of one element of `Forwarded` (RFC 7239).
fn for_of(element: &str) -> Option<IpAddr> {
    let mut pairs = element.split(';').filter_map(|pair| pair.split_once('='));
    let (_, value) = pairs.find(|(name, _)| name.trim().eq_ignore_ascii_case("for"))?;
    let value = value.trim();
    address(value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(peer: &str, headers: &[(&'static str, &str)], trusted: &[&str]) -> String {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().unwrap());
        }
        let trusted: Vec<IpNet> = trusted.iter().map(|text| text.parse().unwrap()).collect();
        let peer = Peer { address: format!("{peer}:9").parse().unwrap(), encrypted: false };
        client(peer, &map, &trusted).to_string()
    }

    const PROXY: &[&str] = &["10.0.0.0/8", "fd00::/8"];

    #[test]
    fn whoever_is_no_trusted_proxy_is_believed_nothing() {
        for name in ["x-forwarded-for", "forwarded", "x-real-ip"] {
            for value in ["192.0.2.1", "for=192.0.2.1"] {
                assert_eq!(from("198.51.100.7", &[(name, value)], PROXY), "198.51.100.7");
                assert_eq!(from("10.0.0.1", &[(name, value)], &[]), "10.0.0.1");
            }
        }
    }

    #[test]
    fn behind_a_trusted_proxy_it_is_the_nearest_address_that_is_not_trusted() {
        for (headers, client) in [
            (vec![("x-forwarded-for", "192.0.2.1")], "192.0.2.1"),
            // What the client himself wrote stands before what the proxy adds.
            (vec![("x-forwarded-for", "127.0.0.1, 10.9.9.9, 192.0.2.1")], "192.0.2.1"),
            (vec![("x-forwarded-for", "203.0.113.5, 192.0.2.1, 10.0.0.2, 10.0.0.3")], "192.0.2.1"),
            (vec![("x-forwarded-for", "203.0.113.5"), ("x-forwarded-for", "192.0.2.1")], "192.0.2.1"),
            (vec![("x-forwarded-for", "192.0.2.1:4711")], "192.0.2.1"),
            (vec![("x-forwarded-for", "[2001:db8::1]:4711")], "2001:db8::1"),
            (vec![("x-forwarded-for", "::ffff:192.0.2.1")], "192.0.2.1"),
            (vec![("forwarded", "for=203.0.113.5, For=\"[2001:db8::1]:9\";proto=https")], "2001:db8::1"),
            (vec![("forwarded", "proto=https;for=192.0.2.1")], "192.0.2.1"),
        ] {
            assert_eq!(from("10.0.0.1", &headers, PROXY), client, "{headers:?}");
        }
    }

    #[test]
    fn where_the_headers_say_nothing_sure_it_is_the_last_that_is_sure() {
        for (headers, client) in [
            (vec![], "10.0.0.1"),
            (vec![("x-forwarded-for", "192.0.2.1, nonsense")], "10.0.0.1"),
            (vec![("x-forwarded-for", "192.0.2.1, nonsense, 10.0.0.2")], "10.0.0.2"),
            (vec![("x-forwarded-for", "")], "10.0.0.1"),
            (vec![("forwarded", "for=_hidden")], "10.0.0.1"),
            (vec![("forwarded", "for=unknown;by=10.0.0.1")], "10.0.0.1"),
            (vec![("x-forwarded-for", "192.0.2.1"), ("forwarded", "for=203.0.113.5")], "10.0.0.1"),
        ] {
            assert_eq!(from("10.0.0.1", &headers, PROXY), client, "{headers:?}");
        }
    }

    #[test]
    fn a_proxy_that_speaks_ipv4_over_ipv6_is_the_same_proxy() {
        assert_eq!(from("[::ffff:10.0.0.1]", &[("x-forwarded-for", "192.0.2.1")], PROXY), "192.0.2.1");
        assert_eq!(from("[fd00::1]", &[("x-forwarded-for", "192.0.2.1")], PROXY), "192.0.2.1");
    }
}
