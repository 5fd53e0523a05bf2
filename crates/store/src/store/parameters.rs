//! The parameters of a database address.

/// Each parameter by its name, and whether its value is shown: it is no secret, and no list of others.
///
/// Source: tokio-postgres, `Config`; PostgreSQL, libpq, Parameter Key Words (`sslrootcert`, `sslcert`, `sslkey`);
/// `pooling` is ours.
const PARAMETERS: [(&str, bool); 23] = [
    ("application_name", true),
    ("channel_binding", true),
    ("connect_timeout", true),
    ("dbname", true),
    ("host", true),
    ("hostaddr", true),
    ("keepalives", true),
    ("keepalives_idle", true),
    ("keepalives_interval", true),
    ("keepalives_retries", true),
    ("load_balance_hosts", true),
    ("options", false),
    ("password", false),
    ("pooling", true),
    ("port", true),
    ("sslcert", true),
    ("sslkey", true),
    ("sslmode", true),
    ("sslnegotiation", true),
    ("sslrootcert", true),
    ("target_session_attrs", true),
    ("tcp_user_timeout", true),
    ("user", true),
];

/// Returns the names of all parameters.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    PARAMETERS.iter().map(|(name, _)| *name)
}

/// Returns whether an address may have a parameter.
pub(super) fn is_known(name: &str) -> bool {
    names().any(|known| known == name)
}

/// Returns whether the value of a parameter is shown.
pub(super) fn is_shown(name: &str) -> bool {
    PARAMETERS.contains(&(name, true))
}
