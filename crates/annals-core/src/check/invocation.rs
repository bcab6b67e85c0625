//! What one successful contract invocation commits to.

use sha2::{Digest as _, Sha256};

use crate::decode::{EventView, HeaderView, TransactionView};
use crate::event::ProofClass;

/// XDR of `SCV_VOID`, which stands for a return value that `TransactionMetaV4` leaves out.
const SCV_VOID: [u8; 4] = 1_u32.to_be_bytes();
/// The last protocol whose asset events a source with backfill rewrites; later ones are emitted in today's format.
const REWRITTEN_PROTOCOL_MAX: u32 = 22;
/// The only protocol whose host put events in front of committed ones after hashing (the repair of entries that
/// protocol 23's state archival had damaged).
const RECONCILING_PROTOCOL: u32 = 23;
/// So many events are tried as such a prefix; each try hashes the whole rest, and the first transaction whose tries
/// all fail ends the check of its ledger.
const RECONCILIATION_PREFIX_MAX: usize = 256;

/// Whether sources rewrite events of invocations of this ledger.
pub(crate) fn may_be_rewritten(header: &HeaderView<'_>) -> bool {
    *header.ran_under().start() <= REWRITTEN_PROTOCOL_MAX
}

/// Whether invocations of this ledger may have events in front of their committed ones.
pub(crate) fn may_be_reconciled(header: &HeaderView<'_>) -> bool {
    header.ran_under().contains(&RECONCILING_PROTOCOL)
}

/// Whether an invocation of this ledger can have `uncommitted_prefix` events in front of its committed ones.
pub(crate) fn allows_prefix(header: &HeaderView<'_>, uncommitted_prefix: u32) -> bool {
    uncommitted_prefix == 0 || (may_be_reconciled(header) && uncommitted_prefix as usize <= RECONCILIATION_PREFIX_MAX)
}

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
        header: &HeaderView<'_>,
    ) -> Option<Self> {
        let return_value = transaction.return_value.unwrap_or(&SCV_VOID);
        let own: Vec<&EventView<'_>> = events.iter().collect();
        if pre_image_hash(return_value, &own) == success_hash {
            let pre_image_xdr = pre_image(return_value, &own);
            return Some(Self { pre_image_xdr, uncommitted_prefix: 0, originals: None });
        }
        // What an upgraded ledger ran under is not told, so that both are tried.
        if may_be_rewritten(header)
            && let Some(originals) = originals(transaction, events)
            && pre_image_hash(return_value, &originals) == success_hash
        {
            let pre_image_xdr = pre_image(return_value, &originals);
            return Some(Self { pre_image_xdr, uncommitted_prefix: 0, originals: Some(originals) });
        }
        if !may_be_reconciled(header) {
            return None;
        }
        let reconciling = |event: &&EventView<'_>| matches!(event.symbol(), Some(b"mint" | b"burn"));
        let longest = events.iter().take_while(reconciling).take(RECONCILIATION_PREFIX_MAX).count();
        let uncommitted_prefix =
            (1..=longest).find(|prefix| pre_image_hash(return_value, &own[*prefix..]) == success_hash)?;
        let pre_image_xdr = pre_image(return_value, &own[uncommitted_prefix..]);
        Some(Self { pre_image_xdr, uncommitted_prefix, originals: None })
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

/// The originals of `events` among the diagnostic events; none where the two lists do not match one to one. A
/// rewritten event keeps its contract and its kind.
fn originals<'a>(transaction: &'a TransactionView<'a>, events: &[EventView<'_>]) -> Option<Vec<&'a EventView<'a>>> {
    let originals: Vec<&EventView<'_>> = transaction
        .diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.in_successful_contract_call && diagnostic.event.kind.is_some())
        .map(|diagnostic| &diagnostic.event)
        .collect();
    let same = |(original, published): (&&EventView<'_>, &EventView<'_>)| {
        original.contract_id == published.contract_id && original.kind == published.kind
    };
    (originals.len() == events.len() && originals.iter().zip(events).all(same)).then_some(originals)
}

/// How many events stand in a pre-image, as it counts them.
fn count_word(events: &[&EventView<'_>]) -> [u8; 4] {
    u32::try_from(events.len()).expect("the events were counted by a u32").to_be_bytes()
}

/// sha256 of the `InvokeHostFunctionSuccessPreImage`, without a copy of it.
fn pre_image_hash(return_value: &[u8], events: &[&EventView<'_>]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    hasher.update(return_value);
    hasher.update(count_word(events));
    for event in events {
        hasher.update(event.xdr);
    }
    hasher.finalize().into()
}

/// XDR of the `InvokeHostFunctionSuccessPreImage`, put together from the source's own slices.
fn pre_image(return_value: &[u8], events: &[&EventView<'_>]) -> Vec<u8> {
    let mut pre_image = return_value.to_vec();
    pre_image.extend_from_slice(&count_word(events));
    for event in events {
        pre_image.extend_from_slice(event.xdr);
    }
    pre_image
}
