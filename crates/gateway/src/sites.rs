//! The routes of each site.

use homeroom_http::{Route, Site};

use crate::router::{RouteError, Router};

/// The table of routes of each site.
pub(crate) struct Sites<C> {
    api: Router<C>,
    content: Router<C>,
}

impl<C> Sites<C> {
    /// Builds the tables.
    ///
    /// # Errors
    ///
    /// [`RouteError`] where routes of one site contradict each other.
    pub(crate) fn new(routes: Vec<Route<C>>) -> Result<Self, RouteError> {
        let content = routes.iter().filter(|route| route.served.on(Site::Content)).cloned();
        let content = Router::new(content.collect())?;
        let api = routes.into_iter().filter(|route| route.served.on(Site::Api));
        Ok(Self { api: Router::new(api.collect())?, content })
    }

    /// Returns the table of a site.
    pub(crate) fn of(&self, site: Site) -> &Router<C> {
        match site {
            Site::Api => &self.api,
            Site::Content => &self.content,
        }
    }

    /// Returns the routes of all sites, each once.
    pub(crate) fn routes(&self) -> impl Iterator<Item = &Route<C>> {
        let content = self.content.routes().iter().filter(|route| !route.served.on(Site::Api));
        self.api.routes().iter().chain(content)
    }
}
