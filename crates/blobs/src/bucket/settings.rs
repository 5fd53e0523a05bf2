//! Where a bucket is, and who may use it.

use std::fmt;

/// The beginning of the URL of a bucket.
const SCHEME: &str = "s3://";
/// The region where none is named. Most S3-compatible stores accept it.
const REGION: &str = "us-east-1";
/// Shortest and longest name of a bucket.
const NAME_LENGTHS: std::ops::RangeInclusive<usize> = 3..=63;

/// A place in an S3-compatible store. Its `Debug` form shows no secret.
#[derive(Clone, PartialEq, Eq)]
pub struct BucketSettings {
    /// The bucket.
    pub bucket: String,
    /// What the names of all objects begin with, without slashes around it; may be empty.
    pub prefix: String,
    /// URL of the store.
    pub endpoint: String,
    /// Its region.
    pub region: String,
    /// Whether the bucket is part of the host's name instead of the path.
    pub is_host: bool,
    /// The key and its secret; [`None`] means that `aws` says where they are.
    pub key: Option<(String, String)>,
    /// Further settings by their names in the environment, such as `AWS_SESSION_TOKEN`.
    pub aws: Vec<(String, String)>,
    /// A folder for what is on its way to the bucket and from it.
    pub spool: std::path::PathBuf,
}

impl BucketSettings {
    /// Reads `s3://BUCKET/PREFIX`, for the store at AWS.
    ///
    /// # Errors
    ///
    /// What the URL lacks.
    pub fn read(url: &str) -> Result<Self, String> {
        let wrong = || "must be s3://BUCKET or s3://BUCKET/PREFIX".to_owned();
        let rest = url.strip_prefix(SCHEME).ok_or_else(wrong)?;
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        // Source: Amazon S3 user guide, bucket naming rules. Older buckets have capitals, too.
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
        if !NAME_LENGTHS.contains(&bucket.len()) || !bucket.chars().all(is_name) {
            return Err(wrong());
        }
        let prefix = prefix.trim_matches('/');
        let is_part = |part: &str| {
            let part = part.chars().all(is_name).then_some(part);
            part.is_some_and(|part| !part.is_empty() && part != "." && part != "..")
        };
        if !prefix.is_empty() && !prefix.split('/').all(is_part) {
            return Err("must have a prefix of letters, digits, `-`, `_`, `.` and `/`".into());
        }
        Ok(Self {
            bucket: bucket.to_owned(),
            prefix: prefix.to_owned(),
            endpoint: String::new(),
            region: REGION.to_owned(),
            is_host: false,
            key: None,
            aws: vec![],
            spool: std::env::temp_dir(),
        })
    }

    /// Returns the URL that all requests begin with.
    pub(crate) fn base(&self) -> String {
        let (bucket, region) = (&self.bucket, &self.region);
        let endpoint = self.endpoint.trim_end_matches('/');
        match (endpoint.split_once("://"), self.is_host) {
            (Some((scheme, host)), true) => format!("{scheme}://{bucket}.{host}"),
            (Some(_), false) => format!("{endpoint}/{bucket}"),
            (None, true) => format!("https://{bucket}.s3.{region}.amazonaws.com"),
            (None, false) => format!("https://s3.{region}.amazonaws.com/{bucket}"),
        }
    }

    /// Returns the name of an object.
    pub(crate) fn key(&self, name: &str) -> String {
        if self.prefix.is_empty() { name.to_owned() } else { format!("{}/{name}", self.prefix) }
    }
}

impl fmt::Display for BucketSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}", self.bucket)?;
        if !self.prefix.is_empty() {
            write!(f, "/{}", self.prefix)?;
        }
        write!(f, " at {}", self.base().trim_end_matches(&format!("/{}", self.bucket)))
    }
}

impl fmt::Debug for BucketSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BucketSettings({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_a_bucket_and_a_prefix() {
        let read = |url| BucketSettings::read(url).map(|read| (read.bucket, read.prefix));

        assert_eq!(read("s3://one"), Ok(("one".into(), String::new())));
        assert_eq!(read("s3://one.two/a/b-c/"), Ok(("one.two".into(), "a/b-c".into())));
        for wrong in ["", "one", "https://one/two", "s3://", "s3://a", "s3://a b", "s3://one/../a"]
        {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn requests_go_to_the_endpoint_or_to_the_region_of_aws() {
        let mut place = BucketSettings::read("s3://one/a").unwrap();
        place.region = "eu-west-1".into();
        assert_eq!(place.base(), "https://s3.eu-west-1.amazonaws.com/one");
        place.is_host = true;
        assert_eq!(place.base(), "https://one.s3.eu-west-1.amazonaws.com");
        place.endpoint = "http://127.0.0.1:9000/".into();
        assert_eq!(place.base(), "http://one.127.0.0.1:9000");
        place.is_host = false;
        assert_eq!(place.base(), "http://127.0.0.1:9000/one");
        assert_eq!(place.to_string(), "s3://one/a at http://127.0.0.1:9000");
        assert_eq!(place.key("store"), "a/store");
    }

    #[test]
    fn no_form_shows_a_secret() {
        let mut place = BucketSettings::read("s3://one").unwrap();
        place.key = Some(("id".into(), "hunter2".into()));
        place.aws = vec![("AWS_SESSION_TOKEN".into(), "hunter2".into())];

        assert!(!format!("{place:?} {place}").contains("hunter2"));
    }
}
