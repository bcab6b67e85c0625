//! The filters of `getEvents`: any of them, and in each all of what it names.

use std::collections::BTreeSet;

use annals_core::ContractId;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use stellar_xdr::{Limits, ReadXdr, ScVal};

use crate::rpc::contents::NodeEvent;
use crate::rpc::error::RpcError;
use crate::rpc::params::FilterParams;
use crate::xdr::encode;

/// Filters of a request, contracts of a filter and matchers of a filter.
const ITEMS_MAX: usize = 5;
/// Segments of a matcher, beside a `**` at its end.
const SEGMENTS_MAX: usize = 4;
/// A value of a filter is smaller than the body that it came in.
const LIMITS: Limits = Limits { depth: 500, len: 512 * 1024 };

/// The filters of one request; none take everything.
#[derive(Debug)]
pub(super) struct Filters(Vec<Filter>);

#[derive(Debug)]
struct Filter {
    kinds: BTreeSet<String>,
    contracts: Vec<ContractId>,
    matchers: Vec<Matcher>,
}

/// Matches the topics of an event one by one.
#[derive(Debug)]
struct Matcher {
    segments: Vec<Segment>,
    /// Whether more topics may follow: a `**` at the end.
    open: bool,
}

#[derive(Debug)]
enum Segment {
    Any,
    /// XDR of an `ScVal`.
    Value(Vec<u8>),
}

impl Filters {
    /// Checks what came.
    ///
    /// # Errors
    /// [`RpcError`] -32602.
    pub(super) fn new(params: &[FilterParams]) -> Result<Self, RpcError> {
        if params.len() > ITEMS_MAX {
            return Err(RpcError::invalid_params("maximum 5 filters per request"));
        }
        let filters = (1..).zip(params).map(|(number, filter)| {
            Filter::new(filter)
                .map_err(|error| RpcError { message: format!("filter {number} invalid: {}", error.message), ..error })
        });
        filters.collect::<Result<_, _>>().map(Self)
    }

    /// Whether the page takes the event.
    pub(super) fn take(&self, event: &NodeEvent) -> bool {
        self.0.is_empty() || self.0.iter().any(|filter| filter.takes(event))
    }
}

impl Filter {
    fn new(params: &FilterParams) -> Result<Self, RpcError> {
        let kinds = params.kinds.as_deref().filter(|kinds| !kinds.is_empty()).map(|kinds| kinds.split(','));
        let kinds: BTreeSet<_> = kinds.into_iter().flatten().map(str::to_owned).collect();
        if kinds.iter().any(|kind| !["contract", "system"].contains(&kind.as_str())) {
            let text = "filter type invalid: if set, type must be either 'system' or 'contract'";
            return Err(RpcError::invalid_params(text));
        }
        let contracts = params.contract_ids.as_deref().unwrap_or_default();
        if contracts.len() > ITEMS_MAX {
            return Err(RpcError::invalid_params("maximum 5 contract IDs per filter"));
        }
        let contracts = (1..).zip(contracts).map(|(number, text)| {
            text.parse().map_err(|_| RpcError::invalid_params(format!("contract ID {number} invalid")))
        });
        let contracts = contracts.collect::<Result<_, _>>()?;
        let topics = params.topics.as_deref().unwrap_or_default();
        if topics.len() > ITEMS_MAX {
            return Err(RpcError::invalid_params("maximum 5 topics per filter"));
        }
        let matchers = (1..).zip(topics).map(|(number, segments)| {
            Matcher::new(segments)
                .map_err(|error| RpcError { message: format!("topic {number} invalid: {}", error.message), ..error })
        });
        Ok(Self { kinds, contracts, matchers: matchers.collect::<Result<_, _>>()? })
    }

    fn takes(&self, event: &NodeEvent) -> bool {
        let of_contract = || event.contract.is_some_and(|contract| self.contracts.contains(&contract));
        (self.kinds.is_empty() || self.kinds.contains(event.kind))
            && (self.contracts.is_empty() || of_contract())
            && (self.matchers.is_empty() || self.matchers.iter().any(|matcher| matcher.fits(&event.topics)))
    }
}

impl Matcher {
    fn new(segments: &[String]) -> Result<Self, RpcError> {
        let (segments, open) = match segments {
            [] => return Err(RpcError::invalid_params("topic must have at least 1 segment")),
            [before @ .., last] if last == "**" => (before, true),
            all => (all, false),
        };
        if let Some(at) = segments.iter().position(|segment| segment == "**") {
            let number = at + 1;
            let text = format!("segment {number} invalid: wildcard '**' is only allowed as the last segment");
            return Err(RpcError::invalid_params(text));
        }
        if segments.len() > SEGMENTS_MAX {
            return Err(RpcError::invalid_params(format!("topic cannot have more than {SEGMENTS_MAX} segments")));
        }
        Ok(Self { segments: segments.iter().map(|text| Segment::new(text)).collect::<Result<_, _>>()?, open })
    }

    /// Without a `**` an event of more or fewer topics does not fit.
    fn fits(&self, topics: &[Vec<u8>]) -> bool {
        let length_fits =
            if self.open { topics.len() >= self.segments.len() } else { topics.len() == self.segments.len() };
        length_fits && self.segments.iter().zip(topics).all(|(segment, topic)| segment.fits(topic))
    }
}

impl Segment {
    fn new(text: &str) -> Result<Self, RpcError> {
        if text == "*" {
            return Ok(Self::Any);
        }
        let bytes = STANDARD.decode(text).map_err(|error| RpcError::invalid_params(error.to_string()))?;
        let value = ScVal::from_xdr(&bytes, LIMITS).map_err(|error| RpcError::invalid_params(error.to_string()))?;
        Ok(Self::Value(encode(&value)))
    }

    fn fits(&self, topic: &[u8]) -> bool {
        match self {
            Self::Any => true,
            Self::Value(value) => value == topic,
        }
    }
}
