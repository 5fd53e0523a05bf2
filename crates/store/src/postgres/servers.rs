//! The servers that an address names, each on its own: so that whoever is refused learns by whom.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use tokio_postgres::Config;
use tokio_postgres::config::{Host, LoadBalanceHosts};

use crate::store::masked_text;

/// The port of a server for which the address names none.
const PORT: u16 = 5432;

/// One server of an address.
#[derive(Clone)]
pub(super) struct Server {
    /// How errors name it, such as `db.example.org:5432`.
    pub(super) shown: String,
    /// The address with this server only.
    pub(super) config: Config,
}

/// Returns each server of an address, in its order. An address whose servers do not fit together is left
/// to the driver, which says why.
pub(super) fn of(config: &Config) -> Vec<Server> {
    let (hosts, addresses, ports) =
        (config.get_hosts(), config.get_hostaddrs(), config.get_ports());
    let all = hosts.len().max(addresses.len());
    let is_paired = hosts.is_empty() || addresses.is_empty() || hosts.len() == addresses.len();
    if all <= 1 || !is_paired || (ports.len() > 1 && ports.len() != all) {
        let shown = (0..all).map(|at| shown(config, at)).collect::<Vec<_>>().join(", ");
        return vec![Server { shown, config: config.clone() }];
    }
    let server = |at| {
        let mut own = without_servers(config);
        match hosts.get(at) {
            Some(Host::Tcp(name)) => _ = own.host(name.clone()),
            Some(Host::Unix(folder)) => _ = own.host_path(folder),
            None => {}
        }
        if let Some(address) = addresses.get(at) {
            own.hostaddr(*address);
        }
        own.port(port(config, at));
        Server { shown: shown(config, at), config: own }
    };
    (0..all).map(server).collect()
}

/// Returns the servers in the order in which they are asked.
pub(super) fn in_turn(servers: &[Server]) -> impl Iterator<Item = &Server> {
    let is_random = servers
        .first()
        .is_some_and(|server| server.config.get_load_balance_hosts() == LoadBalanceHosts::Random);
    let drawn = if is_random { RandomState::new().build_hasher().finish() } else { 0 };
    let first = usize::try_from(drawn % servers.len().max(1) as u64).unwrap_or(0);
    servers[first..].iter().chain(&servers[..first])
}

fn port(config: &Config, at: usize) -> u16 {
    let ports = config.get_ports();
    ports.get(at).or(ports.first()).copied().unwrap_or(PORT)
}

fn shown(config: &Config, at: usize) -> String {
    let port = port(config, at);
    let shown = match (config.get_hosts().get(at), config.get_hostaddrs().get(at)) {
        (Some(Host::Unix(folder)), _) => folder.display().to_string(),
        (Some(Host::Tcp(name)), _) => format!("{name}:{port}"),
        (None, Some(address)) => format!("{address}:{port}"),
        (None, None) => String::new(),
    };
    masked_text(&shown)
}

fn without_servers(config: &Config) -> Config {
    let mut own = Config::new();
    if let Some(user) = config.get_user() {
        own.user(user);
    }
    if let Some(password) = config.get_password() {
        own.password(password);
    }
    if let Some(database) = config.get_dbname() {
        own.dbname(database);
    }
    if let Some(options) = config.get_options() {
        own.options(options);
    }
    if let Some(name) = config.get_application_name() {
        own.application_name(name);
    }
    if let Some(time) = config.get_connect_timeout() {
        own.connect_timeout(*time);
    }
    if let Some(time) = config.get_tcp_user_timeout() {
        own.tcp_user_timeout(*time);
    }
    if let Some(time) = config.get_keepalives_interval() {
        own.keepalives_interval(time);
    }
    if let Some(count) = config.get_keepalives_retries() {
        own.keepalives_retries(count);
    }
    own.ssl_mode(config.get_ssl_mode())
        .ssl_negotiation(config.get_ssl_negotiation())
        .keepalives(config.get_keepalives())
        .keepalives_idle(config.get_keepalives_idle())
        .target_session_attrs(config.get_target_session_attrs())
        .channel_binding(config.get_channel_binding())
        .load_balance_hosts(config.get_load_balance_hosts());
    own
}

#[cfg(test)]
mod tests {
    use std::str::FromStr as _;

    use super::*;

    #[test]
    fn each_server_has_what_the_address_says_of_all() {
        let address = "postgres://u:p@a,b:7,[::1]:8/d?application_name=n&connect_timeout=3&\
             tcp_user_timeout=4&keepalives_idle=5&keepalives_interval=6&keepalives_retries=7&\
             target_session_attrs=read-write&channel_binding=require&options=-cx%3D1&\
             sslmode=require&keepalives=0&sslnegotiation=direct&load_balance_hosts=disable";
        let config = Config::from_str(address).unwrap();

        let servers = of(&config);

        let shown: Vec<_> = servers.iter().map(|server| server.shown.as_str()).collect();
        assert_eq!(shown, ["a:5432", "b:7", "::1:8"]);
        let alone = Config::from_str(&address.replace("a,b:7,[::1]:8", "b:7")).unwrap();
        assert_eq!(servers[1].config, alone);
    }

    #[test]
    fn every_server_has_its_turn() {
        for balance in ["disable", "random"] {
            let address = format!("postgres://a,b,c/d?load_balance_hosts={balance}");
            let servers = of(&Config::from_str(&address).unwrap());

            let mut asked: Vec<_> = in_turn(&servers).map(|server| &*server.shown).collect();
            if balance == "random" {
                asked.sort_unstable();
            }
            assert_eq!(asked, ["a:5432", "b:5432", "c:5432"]);
        }
        assert_eq!(in_turn(&[]).count(), 0);
    }

    #[test]
    fn what_does_not_fit_together_is_left_to_the_driver() {
        for address in ["host=a,b hostaddr=127.0.0.1", "host=a,b,c port=1,2", "user=me"] {
            let config = Config::from_str(address).unwrap();
            assert_eq!(of(&config).len(), 1, "{address}");
            assert_eq!(of(&config)[0].config, config);
        }
    }
}
