//! kedge-machine
