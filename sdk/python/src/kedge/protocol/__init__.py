"""The protocol's bytes: hashes, ids, trees and signatures, as docs/PROTOCOL.md specifies them.

Nothing here performs I/O. Hashes are 32 `bytes`; their texts are `0x` and lower-case hexadecimal digits.
"""
