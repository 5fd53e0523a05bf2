//! `homeroom keys create | list | subscribe | rotate | add-certificate | remove-certificate | suspend |
//! resume | revoke | explain`.

use std::path::Path;

use clap::{Args, Subcommand};
use homeroom_access::{Explain, Manage, Scope};
use homeroom_apis::{ApisRequest, Subscription};
use homeroom_bulk::escaped_line;
use homeroom_gateway::{fingerprint_of, fingerprint_of_client};
use homeroom_http::Fingerprint;
use serde_json::Value;

use crate::config::{Config, ConfigArgs};
use crate::control;
use crate::control::Request;
use crate::exit::{self, Exit, Failure};

/// Creates, lists, rotates, suspends, revokes and explains keys, whether or not a server is running.
#[derive(Debug, Args)]
pub struct KeysArgs {
    #[command(flatten)]
    config: ConfigArgs,
    #[command(subcommand)]
    command: KeysCommand,
}

#[derive(Debug, Subcommand)]
enum KeysCommand {
    /// Creates a key and prints it with its secret, which is shown only this once
    #[command(after_help = "Examples:
  homeroom keys create --claim-set FullAccess --name trial
  homeroom keys create --claim-set SISVendor --education-organizations 255901,255902 --json
  homeroom keys create --scope learning --json
  homeroom keys create --claim-set AssessmentVendor --namespace-prefixes uri://acme.org
  homeroom keys create --apis payments --plan gold --api-scopes items.read")]
    Create {
        /// Claim set, which says what the key may do
        #[arg(long, value_name = "NAME")]
        claim_set: Option<String>,
        /// Name of the application
        #[arg(long)]
        name: Option<String>,
        /// Ids of education organizations
        #[arg(long, value_delimiter = ',', value_name = "IDS")]
        education_organizations: Vec<i64>,
        /// Prefixes of the namespaces that the key may use
        #[arg(long, value_delimiter = ',', value_name = "PREFIXES")]
        namespace_prefixes: Vec<String>,
        /// Ownership tokens of the documents that the key may access where ownership decides
        #[arg(long, value_delimiter = ',', value_name = "TOKENS")]
        ownership_tokens: Vec<i64>,
        /// Ownership token that the key's new documents get
        #[arg(long, value_name = "TOKEN")]
        creator_token: Option<i64>,
        /// Scopes: data, admin, learning, apis [default: data; apis with --apis]
        #[arg(long, value_delimiter = ',')]
        scope: Vec<String>,
        /// Published APIs that the key may call, by name; NAME* for all that begin so, * for all
        #[arg(long, value_delimiter = ',', value_name = "NAMES")]
        apis: Vec<String>,
        /// Plan that limits its calls [default: that of each API]
        #[arg(long, requires = "apis")]
        plan: Option<String>,
        /// Scopes that the key has for operations of these APIs
        #[arg(long, value_delimiter = ',', value_name = "SCOPES", requires = "apis")]
        api_scopes: Vec<String>,
        /// Prints JSON
        #[arg(long)]
        json: bool,
    },
    /// Lists all keys, without secrets
    #[command(after_help = "Example:\n  homeroom keys list --json")]
    List {
        /// Prints JSON
        #[arg(long)]
        json: bool,
    },
    /// Says anew which published APIs a key may call, and by which plan
    #[command(after_help = "Examples:
  homeroom keys subscribe 3f2a… --apis payments --plan silver
  homeroom keys subscribe 3f2a… --apis payments,orders --api-scopes items.read")]
    Subscribe {
        /// The key
        key: String,
        /// Published APIs that the key may call, by name; NAME* for all that begin so, * for all
        #[arg(long, value_delimiter = ',', value_name = "NAMES", required = true)]
        apis: Vec<String>,
        /// Plan that limits its calls [default: that of each API]
        #[arg(long)]
        plan: Option<String>,
        /// Scopes that the key has for operations of these APIs
        #[arg(long, value_delimiter = ',', value_name = "SCOPES")]
        api_scopes: Vec<String>,
        /// Prints JSON
        #[arg(long)]
        json: bool,
    },
    /// Creates a second secret; the old one stays valid until it is revoked or expires
    #[command(after_help = "Examples:
  homeroom keys rotate 3f2a…
  homeroom keys rotate 3f2a… --old-secret-seconds 86400")]
    Rotate {
        /// The key
        key: String,
        /// Seconds that the old secret stays valid
        #[arg(long, value_name = "SECONDS")]
        old_secret_seconds: Option<u32>,
        /// Prints JSON
        #[arg(long)]
        json: bool,
    },
    /// Registers a certificate, which its client then shows instead of a secret
    #[command(after_help = "Examples:
  homeroom keys add-certificate 3f2a… client.pem
  homeroom keys add-certificate 3f2a… 9F:86:D0:81:…")]
    AddCertificate {
        /// The key
        key: String,
        /// A PEM file, or the certificate's SHA-256 fingerprint
        certificate: String,
    },
    /// Removes a certificate and all tokens that were issued for it at once
    #[command(after_help = "Example:\n  homeroom keys remove-certificate 3f2a… client.pem")]
    RemoveCertificate {
        /// The key
        key: String,
        /// A PEM file, or the certificate's SHA-256 fingerprint
        certificate: String,
    },
    /// Suspends a key and all its tokens at once, until it is resumed
    #[command(after_help = "Example:\n  homeroom keys suspend 3f2a…")]
    Suspend {
        /// The key
        key: String,
    },
    /// Lets a suspended key call again
    #[command(after_help = "Example:\n  homeroom keys resume 3f2a…")]
    Resume {
        /// The key
        key: String,
    },
    /// Revokes a key and all its tokens at once
    #[command(after_help = "Examples:
  homeroom keys revoke 3f2a…
  homeroom keys revoke 3f2a… --old-secrets")]
    Revoke {
        /// The key
        key: String,
        /// Revokes only the secrets older than the newest
        #[arg(long = "old-secrets")]
        old_secrets_only: bool,
    },
    /// Shows what a key may do with a resource or document, and why
    #[command(after_help = "Examples:
  homeroom keys explain 3f2a… GET /ed-fi/students
  homeroom keys explain 3f2a… PUT /ed-fi/students/0190…")]
    Explain {
        /// The key
        key: String,
        /// HTTP method or action
        method: String,
        /// Endpoint, name or path of a document
        resource: String,
        /// Prints JSON
        #[arg(long)]
        json: bool,
    },
}

/// Runs the command.
pub fn run(args: KeysArgs) -> Result<Exit, Failure> {
    let config = super::prepare_quietly(&args.config)?;
    let (manage, json) = match args.command {
        KeysCommand::Create {
            claim_set,
            name,
            education_organizations,
            namespace_prefixes,
            ownership_tokens,
            creator_token,
            mut scope,
            apis,
            plan,
            api_scopes,
            json,
        } => {
            if !apis.is_empty() {
                if scope.is_empty() && claim_set.is_some() {
                    scope.push(Scope::Data.name().into());
                }
                scope.push(Scope::Apis.name().into());
            }
            let manage = Manage::CreateKey {
                claim_set,
                name,
                scopes: scope,
                education_organizations,
                namespace_prefixes,
                ownership_tokens,
                creator_token,
            };
            if !apis.is_empty() {
                let subscription = Subscription { plan, apis, scopes: api_scopes };
                let asked = Request::CreateSubscriber { create: manage, subscription };
                return answer(&config, asked, json);
            }
            (manage, json)
        }
        KeysCommand::Subscribe { key, apis, plan, api_scopes, json } => {
            let subscription = Subscription { plan, apis, scopes: api_scopes };
            let asked = ApisRequest::Subscribe { key, subscription };
            return answer(&config, Request::Apis(asked), json);
        }
        KeysCommand::List { json } => (Manage::ListKeys {}, json),
        KeysCommand::Rotate { key, old_secret_seconds, json } => {
            (Manage::RotateKey { key, old_secret_seconds }, json)
        }
        KeysCommand::AddCertificate { key, certificate } => (
            Manage::SetCertificate { key, sha256: sha256_of_client(&certificate)?, remove: false },
            false,
        ),
        KeysCommand::RemoveCertificate { key, certificate } => {
            (Manage::SetCertificate { key, sha256: sha256(&certificate)?, remove: true }, false)
        }
        KeysCommand::Suspend { key } => (Manage::SuspendKey { key, resume: false }, false),
        KeysCommand::Resume { key } => (Manage::SuspendKey { key, resume: true }, false),
        KeysCommand::Revoke { key, old_secrets_only } => {
            (Manage::RevokeKey { key, old_secrets_only }, false)
        }
        KeysCommand::Explain { key, method, resource, json } => {
            (Manage::Explain(Explain { key, method, resource }), json)
        }
    };
    answer(&config, Request::Manage(manage), json)
}

fn answer(config: &Config, asked: Request, json: bool) -> Result<Exit, Failure> {
    let answer = control::request(config, asked, &mut |_| {})?;
    if json {
        super::print_json(&answer);
    } else {
        print_plainly(&answer, 0);
    }
    Ok(Exit::Done)
}

/// Returns the fingerprint of a certificate that is given as a PEM file or as its fingerprint.
fn sha256(certificate: &str) -> Result<String, Failure> {
    if let Some(fingerprint) = Fingerprint::read(certificate) {
        return Ok(fingerprint.to_string());
    }
    let fingerprint = fingerprint_of(Path::new(certificate));
    Ok(fingerprint.map_err(|error| Failure::Failed(error.to_string()))?.to_string())
}

/// Does the same for a certificate that is to be registered. If only a fingerprint is given, the
/// certificate cannot be checked.
fn sha256_of_client(certificate: &str) -> Result<String, Failure> {
    if Fingerprint::read(certificate).is_some() {
        return sha256(certificate);
    }
    let fingerprint = fingerprint_of_client(Path::new(certificate));
    Ok(fingerprint.map_err(|error| Failure::Failed(error.to_string()))?.to_string())
}

/// Prints JSON as indented lines of `name: value`.
pub fn print_plainly(value: &Value, depth: usize) {
    exit::print(&(lines(value, depth).join("\n") + "\n"));
}

fn lines(value: &Value, depth: usize) -> Vec<String> {
    let indent = "  ".repeat(depth);
    match value {
        Value::Object(members) => members
            .iter()
            .flat_map(|(name, value)| {
                let is_nested = match value {
                    Value::Object(_) => true,
                    Value::Array(items) => items.iter().any(Value::is_object),
                    _ => false,
                };
                if is_nested {
                    [vec![format!("{indent}{}:", escaped_line(name))], lines(value, depth + 1)]
                        .concat()
                } else {
                    vec![format!("{indent}{}: {}", escaped_line(name), plain(value))]
                }
            })
            .collect(),
        Value::Array(items) => {
            let blank = |at| if at > 0 { vec![String::new()] } else { vec![] };
            let each = items.iter().enumerate();
            each.flat_map(|(at, item)| match item {
                Value::Object(_) => [blank(at), lines(item, depth)].concat(),
                _ => lines(item, depth),
            })
            .collect()
        }
        value => vec![format!("{indent}{}", plain(value))],
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => escaped_line(text).into_owned(),
        Value::Null => "-".into(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}
