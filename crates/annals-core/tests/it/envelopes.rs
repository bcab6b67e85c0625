//! Only what hashes to a transaction is taken for its envelope.

use annals_core::decode::decode;
use annals_core::{CheckedEnvelope, EnvelopeFault, Network, TransactionKey, TxHash};
use annals_sim::value::{account, contract};
use annals_sim::{EnvelopeForm, EventPlan, Format, LedgerPlan, TxPlan};

use crate::built::{chain, check_built, network};

/// A transaction in an envelope of this form.
fn sealed(form: EnvelopeForm) -> (TransactionKey, Vec<u8>) {
    let event = EventPlan::transfer(contract(1), account(1), account(2), 5);
    let plan = match form {
        EnvelopeForm::V0 => TxPlan::payments(vec![vec![event]]),
        EnvelopeForm::V1 | EnvelopeForm::FeeBump => TxPlan::invocation(contract(1), vec![event]),
    };
    let built = chain(Format::V2Meta4).push(&LedgerPlan::new(vec![plan.in_envelope(form)]));
    let ledger = check_built(&built);
    let view = decode(&built.xdr).unwrap();
    let transaction = TransactionKey { ledger: ledger.seq, hash: view.transactions[0].result.tx_hash };
    assert!(ledger.events.iter().all(|event| event.transaction() == transaction));
    (transaction, view.tx_set.envelopes[0].xdr.to_vec())
}

#[test]
fn an_envelope_is_its_own_transactions_on_its_own_network_and_nobody_elses() {
    for form in [EnvelopeForm::V0, EnvelopeForm::V1, EnvelopeForm::FeeBump] {
        let (transaction, xdr) = sealed(form);
        let checked = CheckedEnvelope::check(network().id(), transaction, xdr.clone()).unwrap();
        assert_eq!((checked.transaction(), checked.xdr()), (transaction, &xdr[..]));
        let other = TransactionKey { hash: TxHash([7; 32]), ..transaction };
        let found = Err(EnvelopeFault::OtherTransaction { found: transaction.hash });
        assert_eq!(CheckedEnvelope::check(network().id(), other, xdr.clone()), found);
        let elsewhere = CheckedEnvelope::check(Network::new("another").id(), transaction, xdr.clone());
        assert!(matches!(elsewhere, Err(EnvelopeFault::OtherTransaction { .. })));
        for len in 0..xdr.len() {
            assert!(CheckedEnvelope::check(network().id(), transaction, xdr[..len].to_vec()).is_err(), "{len}");
        }
        let longer = [&xdr[..], &[0; 4]].concat();
        let longer = CheckedEnvelope::check(network().id(), transaction, longer);
        assert!(matches!(longer, Err(EnvelopeFault::Undecodable(_))));
        // The envelope's own signature, which ends it, is no part of what is hashed.
        for at in 0..xdr.len() - 72 {
            let mut altered = xdr.clone();
            altered[at] ^= 1;
            assert!(CheckedEnvelope::check(network().id(), transaction, altered).is_err(), "{at}");
        }
    }
}
