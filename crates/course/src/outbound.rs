//! Requests that leave: packages by URL, results that are posted.

use std::time::Duration;

use homeroom_client::{AddressPolicy, Client, Error, Exceptions, Network, Settings, Times};

use crate::courses::Courses;

/// The networks that a setting permits: this machine, and what organizations use inside. Metadata
/// services of cloud providers, which are on other addresses, stay refused.
///
/// Source: RFC 1918, RFC 4193, RFC 5735.
const PRIVATE: [&str; 7] = [
    "127.0.0.0/8",
    "::1/128",
    "10.0.0.0/8",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "fc00::/8",
    "fd00::/8",
];
/// Networks within those that stay refused: metadata services.
const REFUSED: [&str; 4] = ["fd00:ec2::/32", "fd20:ce::/32", "fd00:c1::/32", "fd00:42::/32"];

/// The longest time for each step of posting results, and for all of them together.
const POST_TIME: Duration = Duration::from_secs(20);

fn networks(texts: &[&str]) -> Vec<Network> {
    texts.iter().filter_map(|text| text.parse().ok()).collect()
}

/// Returns the addresses that requests may go to.
fn addresses(private: bool) -> AddressPolicy {
    let networks = if private { networks(&PRIVATE) } else { vec![] };
    AddressPolicy::Public(Exceptions { networks, refused: refused(), ..Exceptions::default() })
}

fn refused() -> Vec<Network> {
    networks(&REFUSED)
}

impl Courses {
    /// Returns a client for a package, which may be large.
    pub(crate) fn fetching(&self) -> Result<Client, Error> {
        let addresses = addresses(self.options.private_addresses);
        let times = Times { total: None, ..Times::default() };
        Client::new(Settings { addresses, times, ..Settings::default() })
    }

    /// Returns the client for results that are posted; all share its connections.
    pub(crate) fn posting(&self) -> Result<Client, Error> {
        if let Some(client) = self.client.get() {
            return Ok(client.clone());
        }
        let addresses = addresses(self.options.private_addresses);
        let times = Times::all(POST_TIME);
        let client = Client::new(Settings { addresses, times, ..Settings::default() })?;
        Ok(self.client.get_or_init(|| client).clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_addresses_are_refused_until_a_setting_permits_them() {
        for (address, is_permitted) in [
            ("127.0.0.1", true),
            ("::1", true),
            ("10.1.2.3", true),
            ("172.31.0.1", true),
            ("192.168.1.1", true),
            ("fd12::1", true),
            ("169.254.169.254", false),
            ("100.100.100.200", false),
            ("fd00:ec2::254", false),
            ("0.0.0.0", false),
            ("224.0.0.1", false),
        ] {
            let address = address.parse().unwrap();
            assert!(addresses(false).check("a", address).is_err(), "{address}");
            assert_eq!(addresses(true).check("a", address).is_ok(), is_permitted, "{address}");
        }
        assert_eq!(networks(&PRIVATE).len(), PRIVATE.len());
        assert_eq!(networks(&REFUSED).len(), REFUSED.len());
    }
}
