//! kedge-actors
