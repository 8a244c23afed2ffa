"""Binary formats of the protocol: hashes, ids, trees and signatures (docs/PROTOCOL.md).

Nothing here performs I/O. Hashes are 32 `bytes`; their texts are `0x` and lower-case hexadecimal digits.
"""
