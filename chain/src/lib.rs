//! The Ethereum side: contract binding, transactions, fees, finality; the embedded chain.
