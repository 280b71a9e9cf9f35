//! How often somebody may ask: a bucket for each caller who is signed in, and one for each address of those who are
//! not, or whose credential is refused. Whoever has a good credential is never held up by his neighbours' bad ones.

use crate::{HttpConfig, RateLimit, problem::Problem};
use axum::http::{HeaderMap, HeaderValue};
use charter_events::UserId;
use governor::{
    Quota, RateLimiter,
    clock::{Clock, DefaultClock},
    middleware::StateInformationMiddleware,
    state::keyed::HashMapStateStore,
};
use std::{
    hash::Hash,
    net::IpAddr,
    sync::atomic::{AtomicU32, Ordering},
};

/// From so many buckets of a kind on, those that are full again are forgotten.
const BUCKETS_MAX: usize = 50_000;
/// After how many requests they are.
const LOOKED_THROUGH_EVERY: u32 = 1_024;

type Buckets<K> = RateLimiter<K, HashMapStateStore<K>, DefaultClock, StateInformationMiddleware>;

/// All buckets of a server.
pub(crate) struct Rates {
    callers: Option<Kind<UserId>>,
    addresses: Option<Kind<IpAddr>>,
}

struct Kind<K: Hash + Eq + Clone> {
    name: &'static str,
    limit: RateLimit,
    buckets: Buckets<K>,
    taken: AtomicU32,
}

/// What is left to somebody, as the headers of his answer tell it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Left {
    name: &'static str,
    limit: RateLimit,
    remaining: u32,
}

impl Rates {
    pub(crate) fn new(config: &HttpConfig) -> Self {
        Self {
            callers: config.caller_rate.map(|limit| Kind::new("caller", limit)),
            addresses: config.address_rate.map(|limit| Kind::new("address", limit)),
        }
    }

    /// Counts a request of somebody who is signed in.
    ///
    /// # Errors
    /// 429, when he asks too often.
    pub(crate) fn caller(&self, user: UserId) -> Result<Option<Left>, Problem> {
        self.callers.as_ref().map(|kind| kind.take(&user)).transpose()
    }

    /// Counts a request of somebody who is not, or whose credential was refused. Without an address (it came on no
    /// connection) nothing is counted.
    ///
    /// # Errors
    /// 429, when too many come from there.
    pub(crate) fn stranger(&self, from: Option<IpAddr>) -> Result<Option<Left>, Problem> {
        let Some(from) = from else { return Ok(None) };
        self.addresses.as_ref().map(|kind| kind.take(&network(from))).transpose()
    }
}

/// What counts as one address: of IPv6 everything one customer has.
fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(address) => IpAddr::V6((u128::from(address) & !u128::from(u64::MAX)).into()),
    }
}

impl<K: Hash + Eq + Clone> Kind<K> {
    fn new(name: &'static str, limit: RateLimit) -> Self {
        let quota = Quota::per_second(limit.per_second).allow_burst(limit.burst);
        Self { name, limit, buckets: RateLimiter::hashmap(quota).with_middleware(), taken: AtomicU32::new(0) }
    }

    fn take(&self, key: &K) -> Result<Left, Problem> {
        // Looking through all of them is not done for each request of those who would have it done.
        let count = self.taken.fetch_add(1, Ordering::Relaxed);
        if count.is_multiple_of(LOOKED_THROUGH_EVERY) && self.buckets.len() >= BUCKETS_MAX {
            self.buckets.retain_recent();
        }
        match self.buckets.check_key(key) {
            Ok(state) => {
                Ok(Left { name: self.name, limit: self.limit, remaining: state.remaining_burst_capacity() })
            }
            Err(until) => {
                let wait = until.wait_time_from(DefaultClock::default().now());
                let left = Left { name: self.name, limit: self.limit, remaining: 0 };
                Err(Problem::asks_too_often(wait.as_secs() + 1, left))
            }
        }
    }
}

impl Left {
    /// The headers of the IETF's draft: which bucket it is, how much it holds, and what is left in it.
    pub(crate) fn tell(self, headers: &mut HeaderMap) {
        let full_seconds = self.limit.burst.get().div_ceil(self.limit.per_second.get());
        let texts = [
            ("ratelimit-policy", format!("\"{}\";q={};w={full_seconds}", self.name, self.limit.burst)),
            ("ratelimit", format!("\"{}\";r={}", self.name, self.remaining)),
        ];
        for (name, text) in texts {
            if let Ok(value) = HeaderValue::from_str(&text) {
                headers.insert(name, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(per_second: u32, burst: u32) -> Rates {
        let limit = RateLimit::new(per_second, burst);
        Rates::new(&HttpConfig { caller_rate: limit, address_rate: limit, ..HttpConfig::default() })
    }

    fn user(number: u128) -> UserId {
        uuid::Uuid::from_u128(number).to_string().parse().unwrap()
    }

    #[test]
    fn each_has_his_burst_and_nobody_pays_for_another() {
        let rates = rates(1, 3);
        for expected in [2, 1, 0] {
            assert_eq!(rates.caller(user(1)).unwrap().unwrap().remaining, expected);
        }
        let refused = rates.caller(user(1)).unwrap_err();
        assert_eq!((refused.status().as_u16(), refused.code()), (429, "rate_limited"));
        assert!(rates.caller(user(2)).is_ok());
    }

    #[test]
    fn strangers_are_counted_by_address_and_in_ipv6_by_network() {
        let rates = rates(1, 1);
        let from = |text: &str| Some(text.parse().unwrap());
        assert!(rates.stranger(from("192.0.2.1")).is_ok());
        assert!(rates.stranger(from("192.0.2.1")).is_err());
        assert!(rates.stranger(from("192.0.2.2")).is_ok());
        assert!(rates.stranger(from("2001:db8::1")).is_ok());
        assert!(rates.stranger(from("2001:db8::ffff:2")).is_err());
        assert!(rates.stranger(from("2001:db8:0:1::1")).is_ok());
    }

    #[test]
    fn without_a_limit_nothing_is_counted() {
        let rates =
            Rates::new(&HttpConfig { caller_rate: None, address_rate: None, ..HttpConfig::default() });
        for _ in 0..10_000 {
            assert!(rates.caller(user(1)).unwrap().is_none());
            assert!(rates.stranger(Some(IpAddr::from([192, 0, 2, 1]))).unwrap().is_none());
        }
    }

    #[test]
    fn buckets_that_are_full_again_are_forgotten() {
        let kind = Kind::<u32>::new("test", RateLimit::new(1_000_000, 1).unwrap());
        for number in 0..3 * BUCKETS_MAX as u32 {
            let _ = kind.take(&number);
        }
        assert!(
            kind.buckets.len() < BUCKETS_MAX + 2 * LOOKED_THROUGH_EVERY as usize,
            "{}",
            kind.buckets.len()
        );
    }

    #[test]
    fn how_much_is_left_is_told() {
        let mut headers = HeaderMap::new();
        rates(5, 10).caller(user(1)).unwrap().unwrap().tell(&mut headers);
        assert_eq!(headers["ratelimit-policy"], "\"caller\";q=10;w=2");
        assert_eq!(headers["ratelimit"], "\"caller\";r=9");
    }
}
