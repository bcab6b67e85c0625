//! Envelopes and their hashes.

use annals_core::NetworkId;
use annals_core::hash::sha256;
use stellar_xdr::{
    Asset, CreateContractArgs, CreateContractArgsV2, DecoratedSignature, ExtensionPoint, FeeBumpTransaction,
    FeeBumpTransactionEnvelope, FeeBumpTransactionExt, FeeBumpTransactionInnerTx, Hash, HostFunction,
    InvokeContractArgs, InvokeHostFunctionOp, LedgerFootprint, LedgerKey, Memo, MuxedAccount, Operation, OperationBody,
    PaymentOp, Preconditions, RestoreFootprintOp, ScAddress, ScSymbol, SequenceNumber, Signature, SignatureHint,
    SorobanResources, SorobanTransactionData, SorobanTransactionDataExt, Transaction, TransactionEnvelope,
    TransactionExt, TransactionSignaturePayload, TransactionSignaturePayloadTaggedTransaction, TransactionV0,
    TransactionV0Envelope, TransactionV0Ext, TransactionV1Envelope, Uint256, VecM,
};

use crate::instance::{CreationPlan, InstanceChange};
use crate::plan::{Body, EnvelopeForm, InvocationPlan, TxPlan};
use crate::value::xdr_contract;
use crate::xdr::{hash_of, list};

/// An envelope with what it hashes to.
pub(crate) struct Sealed {
    pub(crate) envelope: TransactionEnvelope,
    /// The transaction's hash; the outer one of a fee bump.
    pub(crate) hash: Hash,
    /// The hash of the transaction inside a fee bump.
    pub(crate) inner_hash: Option<Hash>,
    /// The account that pays the fee.
    pub(crate) payer: [u8; 32],
}

/// Writes the envelope of `plan`; `number` tells the chain's transactions apart.
pub(crate) fn seal(plan: &TxPlan, number: u64, network: NetworkId) -> Sealed {
    let source = sha256(&[b"source", &number.to_be_bytes()]);
    let fee_source = sha256(&[b"fee source", &number.to_be_bytes()]);
    let transaction = transaction(plan, source, number);
    let signatures = signatures(source, number);
    let hash = hash(TransactionSignaturePayloadTaggedTransaction::Tx(transaction.clone()), network);
    match plan.envelope {
        EnvelopeForm::V0 => {
            let envelope =
                TransactionEnvelope::TxV0(TransactionV0Envelope { tx: to_v0(transaction, source), signatures });
            Sealed { envelope, hash, inner_hash: None, payer: source }
        }
        EnvelopeForm::V1 => {
            let envelope = TransactionEnvelope::Tx(TransactionV1Envelope { tx: transaction, signatures });
            Sealed { envelope, hash, inner_hash: None, payer: source }
        }
        EnvelopeForm::FeeBump => {
            let bump = FeeBumpTransaction {
                fee_source: MuxedAccount::Ed25519(Uint256(fee_source)),
                fee: plan.charge + 100,
                inner_tx: FeeBumpTransactionInnerTx::Tx(TransactionV1Envelope { tx: transaction, signatures }),
                ext: FeeBumpTransactionExt::V0,
            };
            let outer = self::hash(TransactionSignaturePayloadTaggedTransaction::TxFeeBump(bump.clone()), network);
            let signatures = self::signatures(fee_source, number);
            let envelope = TransactionEnvelope::TxFeeBump(FeeBumpTransactionEnvelope { tx: bump, signatures });
            Sealed { envelope, hash: outer, inner_hash: Some(hash), payer: fee_source }
        }
    }
}

/// sha256 of `TransactionSignaturePayload` (Stellar-transaction.x).
fn hash(tagged: TransactionSignaturePayloadTaggedTransaction, network: NetworkId) -> Hash {
    hash_of(&TransactionSignaturePayload { network_id: Hash(network.0), tagged_transaction: tagged })
}

fn transaction(plan: &TxPlan, source: [u8; 32], number: u64) -> Transaction {
    let (operations, ext) = match &plan.body {
        Body::Invocation(invocation) => (vec![invoke(invocation)], soroban(plan, Vec::new())),
        // A creation's own key needs the network, which only the hash knows: the footprint is left empty.
        Body::Creation(creation) => (vec![create(creation)], soroban(plan, Vec::new())),
        Body::Restoration(instances) => {
            let keys = instances.iter().map(|instance| InstanceChange::key(instance.contract));
            let body = OperationBody::RestoreFootprint(RestoreFootprintOp { ext: ExtensionPoint::V0 });
            (vec![Operation { source_account: None, body }], soroban(plan, keys.collect()))
        }
        Body::Payments(operations) => {
            let payments = (1..).zip(operations).map(|(amount, _)| payment(amount));
            (payments.collect(), TransactionExt::V0)
        }
    };
    Transaction {
        source_account: MuxedAccount::Ed25519(Uint256(source)),
        fee: u32::try_from(plan.charge).expect("a fee is a 32-bit number of stroops"),
        seq_num: SequenceNumber(i64::try_from(number).expect("a chain is not that long")),
        cond: Preconditions::None,
        memo: Memo::None,
        operations: list(operations),
        ext,
    }
}

fn invoke(plan: &InvocationPlan) -> Operation {
    let host_function = HostFunction::InvokeContract(InvokeContractArgs {
        contract_address: ScAddress::Contract(xdr_contract(plan.contract)),
        function_name: ScSymbol(plan.function.as_str().try_into().expect("a function's name has at most 32 bytes")),
        args: list(plan.args.clone()),
    });
    let body = OperationBody::InvokeHostFunction(InvokeHostFunctionOp { host_function, auth: VecM::default() });
    Operation { source_account: None, body }
}

fn payment(amount: i64) -> Operation {
    let destination = MuxedAccount::Ed25519(Uint256(sha256(&[b"payee"])));
    let body = OperationBody::Payment(PaymentOp { destination, asset: Asset::Native, amount });
    Operation { source_account: None, body }
}

fn create(plan: &CreationPlan) -> Operation {
    let (contract_id_preimage, executable) = (plan.preimage.clone(), plan.executable.clone());
    let host_function = match &plan.constructor_args {
        None => HostFunction::CreateContract(CreateContractArgs { contract_id_preimage, executable }),
        Some(args) => HostFunction::CreateContractV2(CreateContractArgsV2 {
            contract_id_preimage,
            executable,
            constructor_args: list(args.clone()),
        }),
    };
    let body = OperationBody::InvokeHostFunction(InvokeHostFunctionOp { host_function, auth: VecM::default() });
    Operation { source_account: None, body }
}

fn soroban(plan: &TxPlan, writes: Vec<LedgerKey>) -> TransactionExt {
    let footprint = LedgerFootprint { read_only: VecM::default(), read_write: list(writes) };
    let resources = SorobanResources { footprint, instructions: 1_000_000, disk_read_bytes: 0, write_bytes: 0 };
    TransactionExt::V1(SorobanTransactionData {
        ext: SorobanTransactionDataExt::V0,
        resources,
        resource_fee: plan.charge,
    })
}

fn to_v0(transaction: Transaction, source: [u8; 32]) -> TransactionV0 {
    TransactionV0 {
        source_account_ed25519: Uint256(source),
        fee: transaction.fee,
        seq_num: transaction.seq_num,
        time_bounds: None,
        memo: transaction.memo,
        operations: transaction.operations,
        ext: TransactionV0Ext::V0,
    }
}

/// Sixty-four bytes of the right shape: nobody in the house checks signatures.
fn signatures(signer: [u8; 32], number: u64) -> VecM<DecoratedSignature, 20> {
    let halves = [sha256(&[&signer, &number.to_be_bytes(), b"r"]), sha256(&[&signer, &number.to_be_bytes(), b"s"])];
    let hint = SignatureHint([signer[28], signer[29], signer[30], signer[31]]);
    list(vec![DecoratedSignature { hint, signature: Signature(list_bytes(halves.concat())) }])
}

pub(crate) fn list_bytes<const MAX: u32>(bytes: Vec<u8>) -> stellar_xdr::BytesM<MAX> {
    bytes.try_into().expect("the builder's bytes fit their field")
}
