//! kedge-storage
