//! By what a consistent hash chooses among upstreams.

use homeroom_access::Call;
use http::HeaderName;

/// By what of a call its upstream is chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HashBy {
    /// The caller's address.
    Address,
    /// The caller's key, or its name at another issuer.
    Key,
    /// A header of the request.
    Header(HeaderName),
}

impl HashBy {
    /// Reads `address`, `key` or `header:NAME`.
    pub(crate) fn read(text: &str) -> Option<Self> {
        match text {
            "address" => Some(Self::Address),
            "key" => Some(Self::Key),
            _ => Some(Self::Header(text.strip_prefix("header:")?.parse().ok()?)),
        }
    }

    /// Returns the hash of a call; of its address where it lacks what counts.
    pub(crate) fn of(&self, call: &Call) -> u64 {
        let key = || match (&call.client, &call.foreign) {
            (Some(client), _) => Some(hash(client.key.as_bytes())),
            (None, Some(foreign)) => Some(hash(foreign.name.as_bytes())),
            (None, None) => None,
        };
        let found = match self {
            Self::Address => None,
            Self::Key => key(),
            Self::Header(name) => call.headers.get(name).map(|value| hash(value.as_bytes())),
        };
        found.unwrap_or_else(|| {
            let address = call.from.map(|address| address.to_string());
            hash(address.unwrap_or_default().as_bytes())
        })
    }
}

/// Returns a hash that is the same on every node and in every version.
///
/// Source: FNV-1a with 64 bits (draft-eastlake-fnv).
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Returns the weight of an upstream for a call; the greatest one is chosen. An upstream that goes takes
/// only its own calls along.
///
/// Source: highest random weight (Thaler and Ravishankar 1998); the finish of `SplitMix64` mixes the bits.
pub(crate) fn weight(upstream: u64, call: u64) -> u64 {
    let mixed = upstream ^ call.rotate_left(32);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(upstreams: &[u64], call: u64) -> u64 {
        *upstreams.iter().max_by_key(|upstream| weight(**upstream, call)).unwrap()
    }

    #[test]
    fn calls_spread_evenly_and_only_those_of_an_upstream_that_goes_move() {
        let all: Vec<u64> = (0..4).map(|n| hash(format!("http://u{n}:80").as_bytes())).collect();
        let calls: Vec<u64> = (0..10_000).map(|n| hash(format!("10.0.{n}").as_bytes())).collect();

        for upstream in &all {
            let share = calls.iter().filter(|call| chosen(&all, **call) == *upstream).count();
            assert!((2_200..2_800).contains(&share), "{share}");
        }
        for call in &calls {
            let before = chosen(&all, *call);
            if before != all[0] {
                assert_eq!(chosen(&all[1..], *call), before);
            }
        }
    }

    #[test]
    fn what_counts_is_read_or_refused() {
        assert_eq!(HashBy::read("address"), Some(HashBy::Address));
        assert_eq!(HashBy::read("key"), Some(HashBy::Key));
        let header = HashBy::read("header:X-Session");
        assert_eq!(header, Some(HashBy::Header(HeaderName::from_static("x-session"))));
        for text in ["", "header:", "header:a b", "cookie"] {
            assert_eq!(HashBy::read(text), None, "{text}");
        }
    }
}
