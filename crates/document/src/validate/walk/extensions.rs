//! The extensions of an object.

use homeroom_model::{EXTENSIONS, Presence, Property, PropertyKind};

use super::super::extension;
use super::super::path::Path;
use super::Walk;
use crate::empties::{Member, Node};
use crate::json::Json;

impl Walk<'_> {
    /// Writes an object's extensions; returns whether there are any. An extension without content
    /// counts as absent, and one that the object does not have is dropped, as every unknown member is.
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
}
