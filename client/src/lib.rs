//! kedge-client
