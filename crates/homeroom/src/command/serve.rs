//! `homeroom serve`.

use clap::Args;
use homeroom_store::masked_text;

use crate::app::{App, Configured};
use crate::config::{Config, ConfigArgs, LogConfig};
use crate::exit::{Exit, Failure};
use crate::logging;
use crate::logging::Unfiled;
use crate::serve::{Listeners, Server};
use crate::signals::{ignore_hangups, told_to_leave};

/// Serves the API. Without a configuration file it starts with an empty store.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  homeroom serve
  homeroom serve --data-dir /var/lib/homeroom --listen 0.0.0.0:8080
  homeroom serve --parts data
  homeroom serve --store postgres://homeroom@db.example.org/ods
  HOMEROOM_LOG__LEVEL=debug homeroom serve --config homeroom.toml")]
pub struct ServeArgs {
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
    /// Parts to serve, separated by commas: data, bulk, admin, gateway, learning [default: all]
    #[arg(long, value_name = "PARTS")]
    parts: Option<String>,
}

/// Runs the command.
pub fn run(args: ServeArgs) -> Result<Exit, Failure> {
    let flags = [
        ("server.listen", args.listen),
        ("server.content_listen", args.content_listen),
        ("server.admin_listen", args.admin_listen),
        ("server.parts", args.parts),
    ];
    let config = super::prepare(&args.config, &flags).map_err(|failure| {
        // The form that was wanted is not known.
        _ = logging::start(&LogConfig::default(), Unfiled::InLog);
        logged(failure)
    })?;
    serve(&config).map_err(logged)
}

/// Logs why a server cannot start, in the log's own form, where whoever watches servers looks.
fn logged(failure: Failure) -> Failure {
    if !tracing::enabled!(tracing::Level::ERROR) {
        return failure;
    }
    tracing::error!(error = masked_text(&failure.to_string()), "cannot serve");
    failure.told()
}

fn serve(config: &Config) -> Result<Exit, Failure> {
    runtime()?.block_on(async {
        ignore_hangups();
        let configured = Configured::read(config)?;
        let listeners = Listeners::bind(config)?;
        logging::expect_audit(&config.log)?;
        let app = App::open_as(config, configured).await?;
        let server = Server::new(listeners, app, config, None)?;
        let stop = told_to_leave();
        tracing::info!(
            api = %server.address(),
            content = server.content_address().map(tracing::field::display),
            admin = %server.admin_address(),
            store = %config.store.place(),
            standard = config.standard.version,
            "serves"
        );
        server.run(stop).await;
        Ok::<_, Failure>(())
    })?;
    Ok(Exit::Done)
}

/// Creates the async runtime of a server.
pub fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|e| Failure::because("starting the runtime", e))
}
