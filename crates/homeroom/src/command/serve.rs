//! `homeroom serve`.

use clap::Args;

use crate::app::App;
use crate::config::ConfigArgs;
use crate::exit::{Exit, Failure};
use crate::serve::{Server, told_to_stop};

/// Serves the API. Without a configuration file it starts with an empty store.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  homeroom serve
  homeroom serve --data-dir /var/lib/homeroom --listen 0.0.0.0:8080
  homeroom serve --store postgres://homeroom@db.example.org/ods
  HOMEROOM_LOG__LEVEL=debug homeroom serve --config homeroom.toml")]
pub struct ServeArgs {
    #[command(flatten)]
    config: ConfigArgs,
    /// Address of the API [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Address of metrics and probes [default: 127.0.0.1:9090]
    #[arg(long, value_name = "ADDRESS")]
    admin_listen: Option<String>,
}

/// Runs the command.
pub fn run(args: ServeArgs) -> Result<Exit, Failure> {
    let flags = [("server.listen", args.listen), ("server.admin_listen", args.admin_listen)];
    let config = super::prepare(&args.config, &flags)?;
    runtime()?.block_on(async {
        let app = App::open(&config).await?;
        let server = Server::bind(app, &config, None)?;
        let stop = told_to_stop();
        tracing::info!(
            api = %server.address(),
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
