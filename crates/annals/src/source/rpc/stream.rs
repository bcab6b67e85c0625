//! A range of ledgers, page by page.

use std::collections::VecDeque;
use std::sync::Arc;

use annals_core::{LedgerRange, LedgerSeq};

use super::page::PageSize;
use super::pool::{Pool, Unserved};
use crate::source::{LedgerObject, ObjectFault};

pub(super) struct RpcStream {
    pool: Arc<Pool>,
    /// The place of the only endpoint that is asked; none for all.
    only: Option<usize>,
    name: String,
    /// What is still to be asked for.
    wanted: Option<LedgerRange>,
    size: PageSize,
    ready: VecDeque<LedgerObject>,
    lost_in_a_row: u32,
}

impl RpcStream {
    pub(super) fn new(pool: Arc<Pool>, only: Option<usize>, name: String, range: LedgerRange) -> Self {
        let size = PageSize::new();
        Self { pool, only, name, wanted: Some(range), size, ready: VecDeque::new(), lost_in_a_row: 0 }
    }

    /// What is wanted above `last`.
    fn above(wanted: LedgerRange, last: LedgerSeq) -> Option<LedgerRange> {
        LedgerRange::new(last.next()?, wanted.to_inclusive()).ok()
    }

    /// Says that what is wanted up to and with a ledger is not served, and goes on above it.
    fn lose(&mut self, wanted: LedgerRange, unserved: Unserved) -> ObjectFault {
        let through = unserved.given_up_through(wanted, &mut self.lost_in_a_row);
        self.wanted = Self::above(wanted, through);
        let range = LedgerRange::new(wanted.from_inclusive(), through).ok();
        ObjectFault { object: self.name.clone(), range, kind: unserved.kind }
    }
}

impl Iterator for RpcStream {
    type Item = Result<LedgerObject, ObjectFault>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(object) = self.ready.pop_front() {
                return Some(Ok(object));
            }
            let wanted = self.wanted?;
            match self.pool.page(wanted, self.only, &mut self.size) {
                Ok(page) => {
                    self.lost_in_a_row = 0;
                    self.wanted = Self::above(wanted, page.last);
                    self.ready = page.objects.into();
                }
                Err(unserved) => return Some(Err(self.lose(wanted, unserved))),
            }
        }
    }
}
