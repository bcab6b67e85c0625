//! What one successful contract invocation commits to.

use crate::decode::{EventView, TransactionView};
use crate::event::ProofClass;
use crate::hash::sha256;

/// XDR of `SCV_VOID`, which stands for a return value that `TransactionMetaV4` leaves out.
const SCV_VOID: [u8; 4] = 1_u32.to_be_bytes();
/// The only protocol whose host put events in front of committed ones after hashing (the repair of entries that
/// protocol 23's state archival had damaged).
const RECONCILING_PROTOCOL: u32 = 23;
/// So many events are tried as such a prefix; each try hashes the whole rest.
const RECONCILIATION_PREFIX_MAX: usize = 256;

/// How an invocation's events tie to its result.
pub(super) struct Commitment<'a> {
    /// XDR of the pre-image that hashed.
    pub pre_image_xdr: Vec<u8>,
    /// How many of the operation's events stand in front of the committed ones.
    pub uncommitted_prefix: usize,
    /// The originals of the operation's events, where the source rewrote some.
    originals: Option<Vec<&'a EventView<'a>>>,
}

impl<'a> Commitment<'a> {
    /// Finds the event list that hashes to `success_hash`: the operation's own, the originals among the
    /// diagnostic events (a source with backfilled asset events rewrites those of protocols 20 to 22), or the
    /// operation's own without a prefix of reconciliation events.
    pub(super) fn find(
        transaction: &'a TransactionView<'a>,
        events: &'a [EventView<'a>],
        success_hash: [u8; 32],
        protocol: u32,
    ) -> Option<Self> {
        let return_value = transaction.return_value.unwrap_or(&SCV_VOID);
        let hashes = |list: &mut dyn Iterator<Item = &EventView<'_>>| {
            let pre_image_xdr = pre_image(return_value, list);
            (sha256(&[&pre_image_xdr]) == success_hash).then_some(pre_image_xdr)
        };
        if let Some(pre_image_xdr) = hashes(&mut events.iter()) {
            return Some(Self { pre_image_xdr, uncommitted_prefix: 0, originals: None });
        }
        let originals: Vec<&EventView<'_>> = transaction
            .diagnostics
            .iter()
            .filter(|diagnostic| diagnostic.in_successful_contract_call && diagnostic.event.kind.is_some())
            .map(|diagnostic| &diagnostic.event)
            .collect();
        if originals.len() == events.len()
            && let Some(pre_image_xdr) = hashes(&mut originals.iter().copied())
        {
            return Some(Self { pre_image_xdr, uncommitted_prefix: 0, originals: Some(originals) });
        }
        if protocol != RECONCILING_PROTOCOL {
            return None;
        }
        let reconciling = |event: &&EventView<'_>| matches!(event.symbol(), Some(b"mint" | b"burn"));
        let longest = events.iter().take_while(reconciling).take(RECONCILIATION_PREFIX_MAX).count();
        (1..=longest).find_map(|uncommitted_prefix| {
            let pre_image_xdr = hashes(&mut events.iter().skip(uncommitted_prefix))?;
            Some(Self { pre_image_xdr, uncommitted_prefix, originals: None })
        })
    }

    /// The event to keep at `index`, its class, and the rewritten form beside it.
    pub(super) fn classify(
        &self,
        index: usize,
        published: &'a EventView<'a>,
    ) -> (&'a EventView<'a>, ProofClass, Option<&'a [u8]>) {
        if index < self.uncommitted_prefix {
            return (published, ProofClass::Uncommitted, None);
        }
        match self.originals.as_ref().and_then(|originals| originals.get(index)) {
            Some(original) if original.xdr != published.xdr => (original, ProofClass::Rewritten, Some(published.xdr)),
            _ => (published, ProofClass::Committed, None),
        }
    }
}

/// XDR of the `InvokeHostFunctionSuccessPreImage`, put together from the source's own slices.
fn pre_image(return_value: &[u8], events: &mut dyn Iterator<Item = &EventView<'_>>) -> Vec<u8> {
    let mut pre_image = return_value.to_vec();
    let count_at = pre_image.len();
    pre_image.extend_from_slice(&[0; 4]);
    let mut count = 0_u32;
    for event in events {
        pre_image.extend_from_slice(event.xdr);
        count += 1;
    }
    pre_image[count_at..count_at + 4].copy_from_slice(&count.to_be_bytes());
    pre_image
}
