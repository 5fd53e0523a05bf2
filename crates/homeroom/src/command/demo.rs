//! `homeroom demo`.
#![expect(
    clippy::disallowed_methods,
    reason = "the demo says how long it took, and makes a key at this moment"
)]

use std::io::IsTerminal as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use homeroom_access::{Manage, Scope};
use homeroom_apis::{ApisError, Published, Subscription};
use homeroom_data::DataApi;
use homeroom_data::metadata::Credentials;
use homeroom_district::{DistrictPlan, SCHOOL_YEAR_DEFAULT, documents, failing_sample};
use homeroom_http::Timestamp;
use serde_json::{Value, json};

use crate::app::{App, chain};
use crate::config::ConfigArgs;
use crate::config::DEFAULT_VERSION;
use crate::config::Part;
use crate::config::StandardConfig;
use crate::exit::{Exit, Failure};
use crate::serve::{Listeners, Server};
use crate::signals::{Leave, hung_up, told_to_stop};

/// The name of the demonstration's key.
const KEY_NAME: &str = "homeroom demo";
/// The API that the demonstration publishes.
const API: &str = "district";
/// The plan of the demonstration's key.
const PLAN: &str = "demo";
/// The folder, within the store's folder, for the files that fail to load.
const FAILING: &str = "failing-load";

/// Creates (or reuses) a store with a generated sample district, publishes an API, prints a key and
/// curl commands that work, and serves it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  homeroom demo
  homeroom demo --students 100 --data-dir /tmp/trial --listen 127.0.0.1:8085
  homeroom demo --json | head -1")]
pub struct DemoArgs {
    #[command(flatten)]
    config: ConfigArgs,
    /// Address of the API [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Address of the content of courses [default: 127.0.0.1:8081, or a free port]
    #[arg(long, value_name = "ADDRESS")]
    content_listen: Option<String>,
    /// Address of metrics and probes [default: 127.0.0.1:9090]
    #[arg(long, value_name = "ADDRESS")]
    admin_listen: Option<String>,
    /// Number of students of a new sample district
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    students: usize,
    /// Allows other machines to connect although the key is printed
    #[arg(long)]
    allow_remote: bool,
    /// Prints one line of JSON instead of the text
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: DemoArgs) -> Result<Exit, Failure> {
    let flags = [
        ("server.listen", args.listen.clone()),
        ("server.content_listen", args.content_listen.clone()),
        ("server.admin_listen", args.admin_listen.clone()),
    ];
    let config = super::prepare_quietly_with(&args.config, &flags)?;
    refuse_strangers(config.server.listen, args.allow_remote)?;
    refuse_other_standards(&config.standard)?;
    let plan = DistrictPlan::new(args.students, 1, SCHOOL_YEAR_DEFAULT)
        .map_err(|error| Failure::Usage(error.to_string()))?;
    super::serve::runtime()?.block_on(async {
        let listeners = Listeners::bind(&config)?;
        let app = App::open(&config).await?;
        let loaded = fill(&app, plan).await?;
        let failing = write_failing(&config.store.data_dir)?;
        let publishes = config.server.serves(Part::Gateway) && config.server.serves(Part::Data);
        let api = if publishes { publish(&app).await? } else { None };
        let credentials = new_key(&app, api.is_some()).await?;
        let course = if config.server.serves(Part::Learning) {
            let launched = app.courses.launch_sample().await;
            Some(launched.map_err(|e| Failure::because("adding the sample course", chain(&e)))?)
        } else {
            None
        };
        let server = Server::new(listeners, app, &config, Some(credentials.clone()))?;
        let (stop, hung_up) = (told_to_stop(), hung_up());
        let demo = Demo {
            course: course.map(|path| format!("{}{path}", server.url())),
            api: api.map(|path| format!("{}{path}", server.url())),
            url: server.url(),
            data_dir: config.store.data_dir.clone(),
            failing,
            loaded,
            credentials,
        };
        if args.json {
            crate::exit::say!("{}", demo.json());
        } else {
            crate::exit::say!("{}", demo.text());
        }
        // A demo ends with its terminal.
        let end = async {
            tokio::select! {
                () = stop => {}
                () = hung_up => {}
            }
            Leave::AtOnce
        };
        server.run(end).await;
        Ok::<_, Failure>(())
    })?;
    Ok(Exit::Done)
}

/// Refuses to listen for other machines unless that is allowed, since the key is shown on the
/// screen.
fn refuse_strangers(listen: SocketAddr, allowed: bool) -> Result<(), Failure> {
    if listen.ip().is_loopback() || allowed {
        return Ok(());
    }
    Err(Failure::Usage(format!(
        "the demo prints its key, so it does not listen on {listen}, which other machines can \
         reach; use 127.0.0.1, pass --allow-remote if you accept that, or use homeroom serve with \
         keys of your own"
    )))
}

/// Refuses other standards: the sample district exists for one version only.
fn refuse_other_standards(standard: &StandardConfig) -> Result<(), Failure> {
    if standard.model.is_some() || standard.version == DEFAULT_VERSION {
        return Ok(());
    }
    Err(Failure::Usage(format!(
        "standard.version: the sample district exists only for Data Standard {DEFAULT_VERSION}; \
         leave the \
         version out, or start an empty store of {} with homeroom serve",
        standard.version
    )))
}

async fn fill(app: &App, plan: DistrictPlan) -> Result<Option<(u64, f64)>, Failure> {
    let data = app.data.clone();
    tokio::task::spawn_blocking(move || fill_store(&data, plan))
        .await
        .map_err(|e| Failure::because("loading the sample district", e))?
}

fn fill_store(data: &DataApi, plan: DistrictPlan) -> Result<Option<(u64, f64)>, Failure> {
    // A store with more than the standard's own documents is reused unchanged.
    let seeded = data.catalog.model.school_years.len();
    let newest = data.store.newest_change_version_blocking();
    let newest = newest.map_err(|e| Failure::because("reading the store", e))?;
    if newest > i64::try_from(seeded).unwrap_or(i64::MAX) {
        return Ok(None);
    }
    if std::io::stderr().is_terminal() {
        eprintln!("making a sample district of {} students …", plan.students());
    }
    let begun = Instant::now();
    let generated = documents(&plan).map(|document| (document.resource, document.json));
    let summary = homeroom_bulk::load_documents(&data.documents(), generated)
        .map_err(|error| Failure::because("loading the sample district", chain(&error)))?;
    if summary.rejected > 0 {
        return Err(Failure::Failed(format!(
            "{} documents of the sample district were rejected; this is a bug in Homeroom",
            summary.rejected
        )));
    }
    Ok(Some((summary.loaded, begun.elapsed().as_secs_f64())))
}

/// Writes files that fail to load, so that the user can see what rejects look like.
fn write_failing(data_dir: &Path) -> Result<PathBuf, Failure> {
    let folder = data_dir.join(FAILING);
    let wrong = |error| Failure::because(&format!("writing {}", folder.display()), error);
    std::fs::create_dir_all(&folder).map_err(wrong)?;
    for (name, text) in failing_sample() {
        std::fs::write(folder.join(name), text).map_err(wrong)?;
    }
    Ok(folder)
}

/// Publishes the data of the district once more, as an API with a plan. Returns its path, or nothing
/// where what is published already leaves no place for it.
async fn publish(app: &App) -> Result<Option<String>, Failure> {
    let api = json!({
        "definition": {
            "plans": [{ "name": PLAN, "requests_per_second": 50, "burst": 100 }],
            "apis": [{
                "name": API, "context": API, "version": "v1", "part": "data", "plan": PLAN,
                "response_headers": { "set": { "x-published-by": "homeroom demo" } },
            }],
        },
        "documents": {},
    });
    let wrong =
        |error: &dyn std::error::Error| Failure::because("publishing the sample API", chain(error));
    let api: Published = serde_json::from_value(api).map_err(|error| wrong(&error))?;
    match app.apis.add(&api).await {
        Ok(_) => {}
        Err(ApisError::Invalid(_)) => return Ok(None),
        Err(error) => return Err(wrong(&error)),
    }
    let published = app.apis.published().await.map_err(|error| wrong(&error))?;
    let own = published.definition.apis.iter().find(|own| own.name == API);
    Ok(own.map(homeroom_apis::Api::base))
}

/// Creates a new key for this run and revokes those of earlier runs.
async fn new_key(app: &App, is_subscribed: bool) -> Result<Credentials, Failure> {
    let manage = async |manage| {
        let done = app.access.manage(manage, Timestamp::now()).await;
        done.map_err(|error| Failure::because("creating the key", chain(&error)))
    };
    let listed = manage(Manage::ListKeys {}).await?;
    for key in listed["keys"].as_array().into_iter().flatten() {
        let is_old = key["name"] == KEY_NAME && key["status"] != "revoked";
        if let (true, Some(key)) = (is_old, key["key"].as_str()) {
            manage(Manage::RevokeKey { key: key.into(), old_secrets_only: false }).await?;
        }
    }
    let made = manage(Manage::CreateKey {
        claim_set: Some("FullAccess".into()),
        name: Some(KEY_NAME.into()),
        scopes: if is_subscribed {
            [Scope::Data, Scope::Apis].map(|scope| scope.name().into()).to_vec()
        } else {
            vec![]
        },
        education_organizations: vec![],
        namespace_prefixes: vec![],
        ownership_tokens: vec![],
        creator_token: None,
    })
    .await?;
    let text = |name: &str| made[name].as_str().unwrap_or_default().to_owned();
    if is_subscribed {
        let plan = Some(PLAN.to_owned());
        let to = Subscription { plan, apis: vec![API.into()], scopes: vec![] };
        let subscribed = app.apis.subscribe(&text("key"), &to).await;
        subscribed.map_err(|error| Failure::because("creating the key", chain(&error)))?;
    }
    Ok(Credentials { key: text("key"), secret: text("secret") })
}

struct Demo {
    /// The address of the published API.
    api: Option<String>,
    /// The address of a launch of the sample course.
    course: Option<String>,
    url: String,
    data_dir: PathBuf,
    failing: PathBuf,
    loaded: Option<(u64, f64)>,
    credentials: Credentials,
}

impl Demo {
    fn curls(&self) -> Vec<String> {
        let (url, key, secret) = (&self.url, &self.credentials.key, &self.credentials.secret);
        let own = [
            format!(
                "TOKEN=$(curl -s -u {key}:{secret} -d grant_type=client_credentials {url}/oauth/token | sed 's/.*\"access_token\":\"\\([^\"]*\\)\".*/\\1/')"
            ),
            format!(
                "curl -s -H \"Authorization: Bearer $TOKEN\" '{url}/data/v3/ed-fi/students?limit=2'"
            ),
            format!(
                "curl -si -H \"Authorization: Bearer $TOKEN\" '{url}/data/v3/ed-fi/studentSchoolAssociations?limit=1&totalCount=true'"
            ),
        ];
        let published = self.api.as_ref().map(|api| {
            format!("curl -s -H \"Authorization: Bearer $TOKEN\" '{api}/ed-fi/schools?limit=2'")
        });
        own.into_iter().chain(published).collect()
    }

    fn failing_command(&self) -> String {
        let (failing, data) = (self.failing.display(), self.data_dir.display());
        format!("{} load {failing} --data-dir {data}", program())
    }

    fn json(&self) -> Value {
        json!({
            "url": self.url,
            "key": self.credentials.key,
            "secret": self.credentials.secret,
            "documents": self.loaded.map(|(documents, _)| documents),
            "curl": self.curls(),
            "failingLoad": self.failing_command(),
            "course": self.course,
            "publishedApi": self.api,
        })
    }

    fn text(&self) -> String {
        let made = match self.loaded {
            Some((documents, seconds)) => {
                format!("a sample district of {documents} documents, made in {seconds:.1} s")
            }
            None => "the existing store".into(),
        };
        let curls = self.curls();
        let (own, published) = curls.split_at(3);
        let published = published.first().map_or(String::new(), |curl| {
            format!("The same data as a published API, within the limits of a plan:\n\n{curl}\n\n")
        });
        let course = self.course.as_ref().map_or(String::new(), |course| {
            format!("Play a sample course (the link is good for a day):\n\n{course}\n\n")
        });
        format!(
            "Homeroom serves {made}.\n\n  \
             URL     {}\n  key     {}\n  secret  {}\n\n\
             Try it:\n\n{}\n\n{published}{course}\
             See what rejected records look like, in another terminal:\n\n{}\n\n\
             Stop with Ctrl-C. The store stays in {}.",
            self.url,
            self.credentials.key,
            self.credentials.secret,
            own.join("\n"),
            self.failing_command(),
            self.data_dir.display()
        )
    }
}

/// Returns how this program is called from the current folder.
fn program() -> String {
    let whole = std::env::current_exe().unwrap_or_else(|_| "homeroom".into());
    let here = std::env::current_dir().unwrap_or_default();
    whole.strip_prefix(&here).unwrap_or(&whole).display().to_string()
}
