//! The extensions of an object.

use homeroom_model::{EXTENSIONS, Presence, Property, PropertyKind};

use super::super::absent::is_absent;
use super::super::extension;
use super::super::path::Path;
use super::Walk;
use crate::empties::{Member, Node};
use crate::json::{Json, Members};

impl Walk<'_> {
    /// Writes an object's extensions; returns whether there are any. An extension without content
    /// counts as absent.
    pub(super) fn extensions(
        &mut self,
        projects: &[Property],
        sent: &Json<'_>,
        node: Option<&Node>,
        path: Path,
        depth: usize,
    ) -> bool {
        let Json::Object(members) = sent else {
            self.note(path, format!("{EXTENSIONS} must be an object."));
            return false;
        };
        let model = &self.catalog.model;
        self.refuse_extensions(projects, members, &path.json(self.resource));
        let start = self.body.len();
        self.body.push('{');
        let opened = node.map(|node| (self.noting.open(node), node));
        let mut noted = node.map_or(&[][..], |node| &node.members[..]).iter().peekable();
        for (at, project) in projects.iter().enumerate() {
            let member = noted.next_if(|member| member.name == project.name);
            let PropertyKind::Object(added) = &project.kind else { continue };
            let path = path.then(at);
            match extension::member(model, projects, at, members)
                .filter(|sent| **sent != Json::Null)
            {
                None if project.presence == Presence::Optional => {}
                None => self.note(path, format!("{} is required.", project.name)),
                Some(Json::Object(members)) => {
                    let begun = self.begin_member(&project.name);
                    self.object(added, members, member.and_then(Member::node), path, depth + 2);
                    if &self.body[begun.value..] == "{}" {
                        self.take_back(begun);
                    } else if let (Some((opened, node)), Some(member)) = (opened, member) {
                        self.noting.has(opened, node, member);
                    }
                }
                Some(_) => self.note(path, format!("{} must be an object.", project.name)),
            }
        }
        if let Some((opened, node)) = opened {
            self.noting.close(opened, node, self.body.len());
        }
        self.body.push('}');
        self.body.len() > start + "{}".len()
    }

    /// Reports extensions of an object that has none. A server without extensions drops them, as it
    /// drops every unknown member; a server that stores some must not seem to store these.
    pub(super) fn refuse_unknown(
        &mut self,
        properties: &[Property],
        members: &Members<'_>,
        path: Path,
    ) {
        if properties.last().is_some_and(Property::is_extensions) {
            return;
        }
        if let Some(Json::Object(sent)) = Json::member(members, EXTENSIONS) {
            let at = format!("{}.{EXTENSIONS}", path.json(self.resource));
            self.refuse_extensions(&[], sent, &at);
        }
    }

    /// Reports every extension that has content and that the object does not have.
    fn refuse_extensions(&mut self, projects: &[Property], members: &Members<'_>, at: &str) {
        for (name, value) in members {
            let says_nothing = match value {
                Json::Object(inner) => inner.is_empty(),
                other => is_absent(other),
            };
            if says_nothing || extension::named(&self.catalog.model, projects, name).is_some() {
                continue;
            }
            let names: Vec<&str> = projects.iter().map(|known| known.name.as_str()).collect();
            let there = match names.as_slice() {
                [] => "none is loaded for it".to_owned(),
                names => format!("there is {}", names.join(", ")),
            };
            self.note_text(
                format!("{at}.{name}"),
                format!("{name} is not an extension of this object; {there}."),
            );
        }
    }
}
