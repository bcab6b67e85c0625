//! Proof bundles: what they prove, and that nothing else does.

mod base85;
mod claims;
mod damage;
mod forge;
mod json_text;
mod lies;
mod pubnet;
mod python;
