//! What clients show to be recognized.

/// What a client shows to be recognized.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Credential {
    /// A token: `Authorization: Bearer TOKEN`.
    Bearer,
    /// Key and secret: `Authorization: Basic base64(KEY:SECRET)`.
    Basic,
    /// Key and secret in a header of their own: `X-API-Key: KEY.SECRET`.
    ApiKey,
    /// The `Authorization` header as a member of a form of at most
    /// [`PUBLIC_BODY_BYTES_MAX`](crate::PUBLIC_BODY_BYTES_MAX), for callers that cannot set headers (xAPI's
    /// alternate request syntax). What is in it must be accepted too.
    Form,
    /// A certificate that the client has shown in TLS, and that is registered with its key. Headers come
    /// first, where the route accepts what they have.
    Certificate,
}
