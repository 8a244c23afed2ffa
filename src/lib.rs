//! Kedge
