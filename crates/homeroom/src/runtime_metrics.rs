//! Metrics of the pool of threads that answers requests.

use std::fmt::Write as _;

use tokio::runtime::Handle;

/// Adds the figures of the runtime in which it is called, in the form of OpenMetrics.
pub fn write(out: &mut String) {
    let Ok(runtime) = Handle::try_current() else { return };
    let figures = runtime.metrics();
    for (name, help, value) in [
        ("workers", "Threads that answer requests", figures.num_workers()),
        (
            "tasks",
            "Connections, requests and other tasks that have not ended",
            figures.num_alive_tasks(),
        ),
        ("queue_length", "Tasks that wait for one of these threads", figures.global_queue_depth()),
    ] {
        let name = format!("homeroom_runtime_{name}");
        _ = write!(out, "# HELP {name} {help}.\n# TYPE {name} gauge\n{name} {value}\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_pool_of_threads_has_figures() {
        let mut text = String::new();

        write(&mut text);

        assert!(text.contains("\nhomeroom_runtime_workers 1\n"), "{text}");
        assert!(text.contains("# TYPE homeroom_runtime_queue_length gauge\n"), "{text}");
    }
}
