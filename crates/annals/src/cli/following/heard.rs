//! Hears how following gets on, for what its process answers about itself.

use std::sync::Arc;

use crate::follow::{FollowState, Visible, Watch};
use crate::readiness::OwnFollower;

/// Whoever is told, and the follower that the process knows of.
pub(super) struct Heard {
    pub watch: Arc<dyn Watch>,
    pub own: Arc<OwnFollower>,
}

impl Watch for Heard {
    fn state(&self, state: &FollowState) {
        self.own.does(state.doing, state.code);
        self.watch.state(state);
    }

    fn committed(&self, ledger: &Visible) {
        self.own.has_stored();
        self.watch.committed(ledger);
    }

    fn announce(&self, message: &str) {
        self.watch.announce(message);
    }
}
