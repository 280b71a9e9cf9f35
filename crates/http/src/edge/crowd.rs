//! How many connections one address may have open, so that nobody takes all there are. Owns the count; must not know
//! what is said on them.

use super::rates::network;
use ipnet::IpNet;
use std::{
    collections::{HashMap, hash_map::Entry},
    net::IpAddr,
    num::NonZeroUsize,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The addresses that have connections open, and how many. There are never more than connections.
type Open = Mutex<HashMap<IpAddr, usize>>;

/// The count, and its bound.
pub(super) struct Crowd {
    each_max: Option<NonZeroUsize>,
    /// Whoever comes through these comes from many places.
    trusted: Vec<IpNet>,
    open: Arc<Open>,
}

/// A connection that is counted, for as long as this is kept.
pub(super) struct Counted {
    from: Option<IpAddr>,
    open: Arc<Open>,
}

impl Crowd {
    pub(super) fn new(each_max: Option<NonZeroUsize>, trusted: Vec<IpNet>) -> Self {
        Self { each_max, trusted, open: Arc::default() }
    }

    /// Counts a connection; none when its address has as many as it may.
    pub(super) fn admit(&self, from: IpAddr) -> Option<Counted> {
        let from = from.to_canonical();
        let counted = |from| Some(Counted { from, open: Arc::clone(&self.open) });
        let Some(each_max) = self.each_max else { return counted(None) };
        if self.trusted.iter().any(|proxies| proxies.contains(&from)) {
            return counted(None);
        }
        let from = network(from);
        let mut open = locked(&self.open);
        let count = open.entry(from).or_default();
        if *count >= each_max.get() {
            return None;
        }
        *count += 1;
        drop(open);
        counted(Some(from))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let Some(from) = self.from else { return };
        if let Entry::Occupied(mut count) = locked(&self.open).entry(from) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }
}

fn locked(open: &Open) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
    open.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crowd(each_max: usize, trusted: &[&str]) -> Crowd {
        let trusted = trusted.iter().map(|text| text.parse().unwrap()).collect();
        Crowd::new(NonZeroUsize::new(each_max), trusted)
    }

    fn admitted(crowd: &Crowd, from: &str, kept: &mut Vec<Counted>) -> bool {
        let counted = crowd.admit(from.parse().unwrap());
        let is_in = counted.is_some();
        kept.extend(counted);
        is_in
    }

    #[test]
    fn each_address_has_its_own_bound_and_in_ipv6_each_network() {
        let (crowd, mut kept) = (crowd(2, &[]), Vec::new());
        for (from, is_in) in [
            ("192.0.2.1", true),
            ("192.0.2.1", true),
            ("192.0.2.1", false),
            ("::ffff:192.0.2.1", false),
            ("192.0.2.2", true),
            ("2001:db8::1", true),
            ("2001:db8::2", true),
            ("2001:db8::3", false),
            ("2001:db8:0:1::3", true),
        ] {
            assert_eq!(admitted(&crowd, from, &mut kept), is_in, "{from}");
        }
    }

    #[test]
    fn whoever_leaves_makes_room_and_nothing_of_him_is_kept() {
        let (crowd, mut kept) = (crowd(1, &[]), Vec::new());
        for _ in 0..3 {
            assert!(admitted(&crowd, "192.0.2.1", &mut kept));
            assert!(!admitted(&crowd, "192.0.2.1", &mut kept));
            kept.clear();
            assert!(locked(&crowd.open).is_empty());
        }
    }

    #[test]
    fn trusted_proxies_are_not_counted_and_without_a_bound_nobody_is() {
        let mut kept = Vec::new();
        let (proxied, unbounded) = (crowd(1, &["10.0.0.0/8"]), crowd(0, &[]));
        for _ in 0..10 {
            assert!(admitted(&proxied, "10.1.2.3", &mut kept));
            assert!(admitted(&proxied, "::ffff:10.1.2.3", &mut kept));
            assert!(admitted(&unbounded, "192.0.2.1", &mut kept));
        }
    }
}
