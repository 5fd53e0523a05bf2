//! The actions that a client can take on a resource.

/// An action that a claim set may grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Action {
    /// Create a document.
    Create,
    /// Read a document or a list of them.
    Read,
    /// Replace a stored document.
    Update,
    /// Delete a document.
    Delete,
    /// Read deletes and key changes.
    ReadChanges,
}

impl Action {
    /// Every action, in the order in which claim sets list them.
    pub const ALL: [Self; 5] =
        [Self::Create, Self::Read, Self::Update, Self::Delete, Self::ReadChanges];

    /// Returns the published name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Create => "Create",
            Self::Read => "Read",
            Self::Update => "Update",
            Self::Delete => "Delete",
            Self::ReadChanges => "ReadChanges",
        }
    }

    /// Reads a published name, in any case.
    pub fn read(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.name().eq_ignore_ascii_case(name))
    }
}

/// A value for each action.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PerAction<T>([T; 5]);

impl<T> PerAction<T> {
    /// Builds the values by calling `of` for each action.
    pub fn from_fn(of: impl FnMut(Action) -> T) -> Self {
        Self(Action::ALL.map(of))
    }

    /// Returns the value of an action.
    pub fn get(&self, action: Action) -> &T {
        &self.0[action as usize]
    }

    /// Returns the value of an action for modification.
    pub fn get_mut(&mut self, action: Action) -> &mut T {
        &mut self.0[action as usize]
    }

    /// Returns every action with its value.
    pub fn iter(&self) -> impl Iterator<Item = (Action, &T)> {
        Action::ALL.into_iter().zip(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_action_has_its_own_index_and_survives_a_round_trip() {
        let places = PerAction::from_fn(|action| action);

        for action in Action::ALL {
            assert_eq!(*places.get(action), action);
            assert_eq!(Action::read(&action.name().to_uppercase()), Some(action));
        }
        assert_eq!(Action::read("Write"), None);
    }
}
