//! Strategies: lists the published ones; puts, shows and removes custom views.

use std::sync::Arc;

use homeroom_http::did_you_mean;
use serde_json::{Value, json};

use crate::access::Access;
use crate::change::Change;
use crate::custom_view::{CustomView, VIEWS_MAX};
use crate::error::ManageError;
use crate::items::ItemKind;
use crate::registry::Registry;
use crate::strategy::Strategy;

impl Access {
    pub(super) fn put_strategy(
        &self,
        change: &mut Change<'_>,
        name: &str,
        definition: &Value,
    ) -> Result<Value, ManageError> {
        let name = name.trim();
        let view = CustomView::read(name, definition, &self.model).map_err(|faults| {
            ManageError::Invalid(format!(
                "the strategy `{name}` cannot be used:\n  {}",
                faults.join("\n  ")
            ))
        })?;
        let (id, count) = change.look_up(|registry| {
            (item_of(registry, name), registry.items(ItemKind::AuthorizationStrategy).count())
        });
        if id.is_none() && count >= VIEWS_MAX {
            return Err(ManageError::Refused(format!(
                "there are already {VIEWS_MAX} strategies of your own"
            )));
        }
        let item = json!({"name": name, "definition": definition});
        change.put(ItemKind::AuthorizationStrategy, id, item)?;
        Ok(json!({
            "name": view.name,
            "replaced": id.is_some(),
            "basis": view.basis_name,
            "asks": view.asks,
        }))
    }

    pub(super) fn list_strategies(&self) -> Value {
        let published = Strategy::PUBLISHED
            .iter()
            .map(|strategy| json!({"name": strategy.name(), "published": true}));
        let own: Vec<Value> = self.look_up(|registry| {
            let views = registry.views().iter();
            views
                .map(|view| {
                    json!({
                        "name": view.name,
                        "published": false,
                        "basis": view.basis_name,
                        "asks": view.asks,
                        "claimSets": sets_with(registry, &view.name),
                    })
                })
                .collect()
        });
        json!({ "strategies": published.chain(own).collect::<Vec<_>>() })
    }

    pub(super) fn show_strategy(&self, name: &str) -> Result<Value, ManageError> {
        let view = self.view(name)?;
        let fits = |resource: &&homeroom_model::Resource| view.bind(resource).is_ok();
        let resources: Vec<String> =
            self.model.resources.iter().filter(fits).map(homeroom_model::Resource::path).collect();
        Ok(json!({
            "name": view.name,
            "basis": view.basis_name,
            "asks": view.asks,
            "definition": view.definition,
            "resources": resources,
        }))
    }

    fn view(&self, name: &str) -> Result<Arc<CustomView>, ManageError> {
        self.look_up(|registry| {
            registry.views().get(name).cloned().ok_or_else(|| unknown(registry, name))
        })
    }
}

/// Removes a custom view that no claim set names.
pub(super) fn remove(change: &mut Change<'_>, name: &str) -> Result<Value, ManageError> {
    let (id, sets) =
        change.look_up(|registry| (item_of(registry, name), sets_with(registry, name)));
    let id = id.ok_or_else(|| change.look_up(|registry| unknown(registry, name)))?;
    if !sets.is_empty() {
        return Err(ManageError::Refused(format!(
            "these claim sets use the strategy `{name}`: {}; change them first",
            sets.join(", ")
        )));
    }
    change.remove(ItemKind::AuthorizationStrategy, id);
    Ok(json!({"name": name, "removed": true}))
}

fn unknown(registry: &Registry, name: &str) -> ManageError {
    let known = registry.views().iter().map(|view| view.name.as_str());
    let near = did_you_mean(name, known);
    ManageError::Invalid(format!("there is no strategy `{name}` of your own{near}"))
}

/// Returns the id under which a strategy is stored, whether or not it fits the model.
fn item_of(registry: &Registry, name: &str) -> Option<i64> {
    let has_name =
        |item: &Value| item["name"].as_str().is_some_and(|own| own.eq_ignore_ascii_case(name));
    let mut items = registry.items(ItemKind::AuthorizationStrategy);
    items.find(|(_, item)| has_name(item)).map(|(id, _)| id)
}

/// Returns the names of the claim sets that name a strategy.
fn sets_with(registry: &Registry, name: &str) -> Vec<String> {
    let is_it = |strategy: &Strategy| strategy.name().eq_ignore_ascii_case(name);
    let sets = registry.claim_sets().filter(|known| {
        known.set().grants().any(|(_, actions)| {
            actions.iter().any(|(_, strategies)| strategies.iter().flatten().any(is_it))
        })
    });
    sets.map(|known| known.set().name.clone()).collect()
}
