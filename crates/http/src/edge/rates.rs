//! How often somebody may ask: a bucket for each caller who is signed in and a smaller one for each of his sessions and
//! tokens, and one for each address of those who are not, or whose credential is refused. Whoever has a good credential
//! is never held up by his neighbours' bad ones, and a program that asks without end leaves something to the others
//! that act as the same user.

use crate::{HttpConfig, RateLimit, problem::Problem};
use axum::http::{HeaderMap, HeaderValue};
use charter_control::{Authenticated, Credential};
use charter_events::UserId;
use governor::{
    Quota, RateLimiter,
    clock::{Clock, DefaultClock},
    middleware::StateInformationMiddleware,
    state::keyed::HashMapStateStore,
};
use smallvec::{SmallVec, smallvec};
use std::{
    fmt::Write,
    hash::Hash,
    net::IpAddr,
    num::NonZeroU32,
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
    credentials: Option<Kind<Credential>>,
    addresses: Option<Kind<IpAddr>>,
    /// Requests that have an identity provider asked something; of those of an address a tenth at most.
    at_provider: Option<Kind<IpAddr>>,
}

struct Kind<K: Hash + Eq + Clone> {
    name: &'static str,
    limit: RateLimit,
    buckets: Buckets<K>,
    taken: AtomicU32,
}

/// What is left in one bucket.
#[derive(Debug, Clone, Copy)]
struct Level {
    name: &'static str,
    limit: RateLimit,
    remaining: u32,
}

/// What is left to somebody in each bucket his request was counted in, as the headers of his answer tell it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Left(SmallVec<[Level; 2]>);

impl Rates {
    pub(crate) fn new(config: &HttpConfig) -> Self {
        Self {
            callers: config.caller_rate.map(|limit| Kind::new("caller", limit)),
            credentials: config.credential_rate.map(|limit| Kind::new("credential", limit)),
            addresses: config.address_rate.map(|limit| Kind::new("address", limit)),
            at_provider: config.address_rate.map(|limit| Kind::new("provider", limit.tenth())),
        }
    }

    /// Counts a request of somebody who is signed in.
    ///
    /// # Errors
    /// 429, when he asks too often.
    pub(crate) fn caller(&self, who: &Authenticated) -> Result<Left, Problem> {
        self.signed_in(who.user, who.credential)
    }

    /// What a credential asks too often is not taken from its user.
    fn signed_in(&self, user: UserId, credential: Credential) -> Result<Left, Problem> {
        let mut left = Left::default();
        if let Some(kind) = &self.credentials {
            left.0.push(kind.take(&credential)?);
        }
        if let Some(kind) = &self.callers {
            left.0.push(kind.take(&user)?);
        }
        Ok(left)
    }

    /// Counts a request of somebody who is not, or whose credential was refused. Without an address (it came on no
    /// connection) nothing is counted.
    ///
    /// # Errors
    /// 429, when too many come from there.
    pub(crate) fn stranger(&self, from: Option<IpAddr>) -> Result<Left, Problem> {
        match (from, &self.addresses) {
            (Some(from), Some(kind)) => Ok(Left(smallvec![kind.take(&network(from))?])),
            _ => Ok(Left::default()),
        }
    }

    /// Counts a request of somebody who is not signed in and has an identity provider asked something, for whom the
    /// provider does the work and would turn away this whole installation.
    ///
    /// # Errors
    /// 429, when too many come from there.
    pub(crate) fn at_provider(&self, from: Option<IpAddr>) -> Result<Left, Problem> {
        let mut left = self.stranger(from)?;
        if let (Some(from), Some(kind)) = (from, &self.at_provider) {
            left.0.push(kind.take(&network(from))?);
        }
        Ok(left)
    }
}

impl RateLimit {
    /// A tenth of it, and something at least.
    const fn tenth(self) -> Self {
        const fn of(number: NonZeroU32) -> NonZeroU32 {
            match NonZeroU32::new(number.get() / 10) {
                Some(tenth) => tenth,
                None => NonZeroU32::MIN,
            }
        }
        Self { per_second: of(self.per_second), burst: of(self.burst) }
    }
}

/// What counts as one address: of IPv6 everything one customer has.
pub(super) fn network(address: IpAddr) -> IpAddr {
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

    fn take(&self, key: &K) -> Result<Level, Problem> {
        // Looking through all of them is not done for each request of those who would have it done.
        let count = self.taken.fetch_add(1, Ordering::Relaxed);
        if count.is_multiple_of(LOOKED_THROUGH_EVERY) && self.buckets.len() >= BUCKETS_MAX {
            self.buckets.retain_recent();
        }
        let level = |remaining| Level { name: self.name, limit: self.limit, remaining };
        self.buckets.check_key(key).map(|state| level(state.remaining_burst_capacity())).map_err(|until| {
            let wait = until.wait_time_from(DefaultClock::default().now());
            Problem::asks_too_often(wait.as_secs() + 1, &Left(smallvec![level(0)]))
        })
    }
}

impl Left {
    /// The headers of the IETF's draft: which buckets they are, how much each holds, and what is left in it.
    pub(crate) fn tell(&self, headers: &mut HeaderMap) {
        let (mut policies, mut levels) = (String::new(), String::new());
        for Level { name, limit, remaining } in &self.0 {
            let full_seconds = limit.burst.get().div_ceil(limit.per_second.get());
            let comma = if policies.is_empty() { "" } else { ", " };
            // Writing to a text can't fail.
            let _ = write!(policies, "{comma}\"{name}\";q={};w={full_seconds}", limit.burst);
            let _ = write!(levels, "{comma}\"{name}\";r={remaining}");
        }
        for (name, text) in [("ratelimit-policy", policies), ("ratelimit", levels)] {
            if let (false, Ok(value)) = (text.is_empty(), HeaderValue::from_str(&text)) {
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

    fn token(number: u128) -> Credential {
        Credential::Token(uuid::Uuid::from_u128(number).to_string().parse().unwrap())
    }

    fn left(taken: Result<Left, Problem>) -> Vec<u32> {
        taken.unwrap().0.iter().map(|level| level.remaining).collect()
    }

    #[test]
    fn each_has_his_burst_and_nobody_pays_for_another() {
        let rates = rates(1, 3);
        for expected in [2, 1, 0] {
            assert_eq!(left(rates.signed_in(user(1), token(1))), [expected]);
        }
        let refused = rates.signed_in(user(1), token(2)).unwrap_err();
        assert_eq!((refused.status().as_u16(), refused.code()), (429, "rate_limited"));
        assert!(rates.signed_in(user(2), token(3)).is_ok());
    }

    #[test]
    fn a_token_that_asks_without_end_leaves_its_user_something() {
        let rates = Rates::new(&HttpConfig {
            caller_rate: RateLimit::new(1, 5),
            credential_rate: RateLimit::new(1, 3),
            ..HttpConfig::default()
        });
        for expected in [[2, 4], [1, 3], [0, 2]] {
            assert_eq!(left(rates.signed_in(user(1), token(1))), expected);
        }
        for _ in 0..100 {
            assert_eq!(rates.signed_in(user(1), token(1)).unwrap_err().code(), "rate_limited");
        }
        // What was refused cost the user nothing; what he has left is his other tokens' together.
        assert_eq!(left(rates.signed_in(user(1), token(2))), [2, 1]);
        assert_eq!(left(rates.signed_in(user(1), token(3))), [2, 0]);
        assert!(rates.signed_in(user(1), token(2)).is_err());
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
    fn an_identity_provider_is_asked_a_tenth_as_often_and_nobody_else_is_kept_out_by_it() {
        let rates = rates(20, 20);
        let from = |text: &str| Some(text.parse().unwrap());
        let asked = (0..5).filter(|_| rates.at_provider(from("192.0.2.1")).is_ok()).count();
        assert_eq!(asked, 2);
        assert!(rates.stranger(from("192.0.2.1")).is_ok() && rates.at_provider(from("192.0.2.2")).is_ok());
        let least = RateLimit::new(1, 5).unwrap().tenth();
        assert_eq!((least.per_second.get(), least.burst.get()), (1, 1));
    }

    #[test]
    fn without_a_limit_nothing_is_counted() {
        let rates = Rates::new(&HttpConfig::default());
        for _ in 0..10_000 {
            assert!(left(rates.signed_in(user(1), token(1))).is_empty());
            assert!(left(rates.stranger(Some(IpAddr::from([192, 0, 2, 1])))).is_empty());
        }
        let mut headers = HeaderMap::new();
        Left::default().tell(&mut headers);
        assert!(headers.is_empty());
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
    fn how_much_is_left_is_told_of_each_bucket() {
        let mut headers = HeaderMap::new();
        let both = Rates::new(&HttpConfig {
            caller_rate: RateLimit::new(5, 10),
            credential_rate: RateLimit::new(3, 6),
            ..HttpConfig::default()
        });
        both.signed_in(user(1), token(1)).unwrap().tell(&mut headers);
        assert_eq!(headers["ratelimit-policy"], "\"credential\";q=6;w=2, \"caller\";q=10;w=2");
        assert_eq!(headers["ratelimit"], "\"credential\";r=5, \"caller\";r=9");
    }
}
