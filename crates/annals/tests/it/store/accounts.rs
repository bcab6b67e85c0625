//! Whom events belong to, and what accounts are told.

mod random;
