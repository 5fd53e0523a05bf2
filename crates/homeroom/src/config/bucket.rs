//! The bucket of the blobs, from the settings and from what the environment says of AWS.

use homeroom_blobs::BucketSettings;

use super::sections::BlobsConfig;

/// The variables of the environment that name an endpoint or a region; the first that is set counts.
const ENDPOINTS: [&str; 2] = ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"];
const REGIONS: [&str; 2] = ["AWS_REGION", "AWS_DEFAULT_REGION"];
/// Those that name credentials, or where a process gets some.
const CREDENTIALS: [&str; 9] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_ROLE_ARN",
    "AWS_ROLE_SESSION_NAME",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
];
/// The variable that names where a web identity becomes credentials.
const TOKENS: &str = "AWS_ENDPOINT_URL_STS";

/// Returns the bucket that the settings name, or which setting is wrong and why.
pub(super) fn bucket(
    blobs: &BlobsConfig,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Option<BucketSettings>, (&'static str, String)> {
    let Some(url) = &blobs.url else { return Ok(None) };
    let mut bucket = BucketSettings::read(url).map_err(|why| ("blobs.url", why))?;
    let first = |names: &[&str]| names.iter().find_map(|name| variable(name));
    bucket.endpoint = blobs.endpoint.clone().or_else(|| first(&ENDPOINTS)).unwrap_or_default();
    if !bucket.endpoint.is_empty() && !is_endpoint(&bucket.endpoint) {
        return Err(("blobs.endpoint", ENDPOINT.to_owned()));
    }
    if let Some(region) = blobs.region.clone().or_else(|| first(&REGIONS)) {
        bucket.region = region;
    }
    bucket.is_host = blobs.bucket_in_host;
    match (&blobs.access_key_id, &blobs.secret_access_key) {
        (Some(id), Some(secret)) => {
            let secret = secret.reveal(variable);
            let secret = secret.map_err(|why| ("blobs.secret_access_key", why))?;
            bucket.key = Some((id.clone(), secret));
        }
        (Some(_), None) => {
            return Err(("blobs.access_key_id", "needs blobs.secret_access_key".into()));
        }
        (None, Some(_)) => {
            return Err(("blobs.secret_access_key", "needs blobs.access_key_id".into()));
        }
        (None, None) => {
            let all = CREDENTIALS.into_iter().chain([TOKENS]);
            let found = all.filter_map(|name| Some((name.to_owned(), variable(name)?)));
            bucket.aws = found.collect();
            let is_none = !bucket.aws.iter().any(|(name, _)| name != TOKENS);
            if is_none && !bucket.endpoint.is_empty() {
                let right = "is needed, with blobs.secret_access_key; or set AWS_ACCESS_KEY_ID and \
                             AWS_SECRET_ACCESS_KEY";
                return Err(("blobs.access_key_id", right.into()));
            }
        }
    }
    Ok(Some(bucket))
}

/// What an endpoint is.
pub(super) const ENDPOINT: &str =
    "must be a URL without a path, such as https://minio.example.org:9000";

/// Returns whether a text is the URL of a host.
pub(super) fn is_endpoint(text: &str) -> bool {
    let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    host.is_some_and(|host| {
        let host = host.strip_suffix('/').unwrap_or(host);
        let is_part =
            |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':' | '[' | ']');
        !host.is_empty() && host.chars().all(is_part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> BlobsConfig {
        BlobsConfig { url: Some("s3://blobs/school".into()), ..BlobsConfig::default() }
    }

    #[test]
    fn settings_count_before_the_environment() {
        let variable = |name: &str| {
            let value = match name {
                "AWS_REGION" => "eu-west-1",
                "AWS_ENDPOINT_URL" => "http://minio:9000",
                "AWS_ACCESS_KEY_ID" | "AWS_SECRET_ACCESS_KEY" => "of the environment",
                "SECRET" => "hunter2",
                _ => return None,
            };
            Some(value.to_owned())
        };
        let own = BlobsConfig {
            endpoint: Some("https://s3.example.org".into()),
            region: Some("r".into()),
            access_key_id: Some("id".into()),
            secret_access_key: Some("env:SECRET".into()),
            ..config()
        };

        let by_environment = bucket(&config(), &variable).unwrap().unwrap();
        let by_settings = bucket(&own, &variable).unwrap().unwrap();

        assert_eq!(by_environment.endpoint, "http://minio:9000");
        assert_eq!((by_environment.region.as_str(), by_environment.aws.len()), ("eu-west-1", 2));
        assert_eq!(by_settings.endpoint, "https://s3.example.org");
        assert_eq!(by_settings.key, Some(("id".into(), "hunter2".into())));
        assert_eq!((by_settings.region.as_str(), by_settings.aws.len()), ("r", 0));
    }

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        let none = |_: &str| None;
        let wrong = |blobs: BlobsConfig| bucket(&blobs, &none).map(drop).unwrap_err().0;
        let endpoint = || Some("http://minio:9000".to_owned());

        assert_eq!(bucket(&BlobsConfig::default(), &none), Ok(None));
        assert!(bucket(&config(), &none).unwrap().is_some(), "AWS gives the machine a role");
        assert_eq!(wrong(BlobsConfig { endpoint: endpoint(), ..config() }), "blobs.access_key_id");
        let id = BlobsConfig { access_key_id: Some("id".into()), ..config() };
        assert_eq!(wrong(id.clone()), "blobs.access_key_id");
        let secret = Some("env:SECRET".into());
        assert_eq!(
            wrong(BlobsConfig { secret_access_key: secret, ..id }),
            "blobs.secret_access_key"
        );
        for endpoint in ["minio:9000", "http://", "http://me:x@minio", "http://minio/path"] {
            let endpoint = Some(endpoint.to_owned());
            assert_eq!(wrong(BlobsConfig { endpoint, ..config() }), "blobs.endpoint");
        }
    }
}
