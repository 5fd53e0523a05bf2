//! Slots whose request waits for an answer, in the order of sending: the first to time out is
//! first.

/// A linked list through the slots of a thread; a slot anywhere in it is removed in constant time.
#[derive(Debug, Default)]
pub struct Waiting {
    links: Vec<Link>,
    first: Option<u32>,
    last: Option<u32>,
    length: usize,
}

#[derive(Debug, Default, Clone, Copy)]
struct Link {
    before: Option<u32>,
    after: Option<u32>,
    is_in: bool,
}

impl Waiting {
    /// Returns the slot whose request was sent first.
    pub fn first(&self) -> Option<u32> {
        self.first
    }

    /// Returns how many slots wait.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Returns whether no slot waits.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Returns whether a slot is in the list.
    pub fn contains(&self, slot: u32) -> bool {
        self.links.get(slot as usize).is_some_and(|link| link.is_in)
    }

    /// Adds a slot at the end.
    pub fn push(&mut self, slot: u32) {
        if self.links.len() <= slot as usize {
            self.links.resize(slot as usize + 1, Link::default());
        }
        self.remove(slot);
        self.links[slot as usize] = Link { before: self.last, after: None, is_in: true };
        match self.last {
            Some(last) => self.links[last as usize].after = Some(slot),
            None => self.first = Some(slot),
        }
        self.last = Some(slot);
        self.length += 1;
    }

    /// Removes a slot; returns false if it is not in the list.
    pub fn remove(&mut self, slot: u32) -> bool {
        let Some(link) = self.links.get_mut(slot as usize).filter(|link| link.is_in) else {
            return false;
        };
        let Link { before, after, .. } = std::mem::take(link);
        match before {
            Some(before) => self.links[before as usize].after = after,
            None => self.first = after,
        }
        match after {
            Some(after) => self.links[after as usize].before = before,
            None => self.last = before,
        }
        self.length -= 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(waiting: &mut Waiting) -> Vec<u32> {
        std::iter::from_fn(|| waiting.first().inspect(|slot| _ = waiting.remove(*slot))).collect()
    }

    #[test]
    fn waiting_connections_leave_in_order_of_arrival() {
        let mut waiting = Waiting::default();
        for slot in [3, 1, 4, 0, 5] {
            waiting.push(slot);
        }

        waiting.remove(4);
        waiting.remove(3);
        waiting.push(1);

        assert_eq!(waiting.len(), 3);
        assert_eq!(drain(&mut waiting), [0, 5, 1]);
        assert!(waiting.is_empty());
    }

    #[test]
    fn a_connection_that_does_not_wait_cannot_be_removed() {
        let mut waiting = Waiting::default();
        waiting.push(2);

        assert!(!waiting.remove(7));
        assert!(waiting.remove(2));
        assert!(!waiting.remove(2));
    }
}
