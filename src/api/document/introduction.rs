//! Introduction of the document.

pub(crate) const SUMMARY: &str =
    "Digital objects whose every change is signed, ordered, durable and provable.";

pub(crate) const BEARER: &str = "An access token of `POST /wallets/login`, `/wallets/register` or \
    `/wallets/token/refresh`. When it has expired, the last of these gives a new one.";

pub(crate) const API_KEY: &str = "An API key of `POST /api-keys`, alone or together with an access \
    token of the same organization; then the narrower right applies. Each operation names the right it \
    needs in `x-api-key-right`.";

/// An empty line separates paragraphs and headings, which begin with `##`; words between back quotes are code.
pub(crate) const DESCRIPTION: &str = "\
## Signatures and receipts

Requests that change something are signed: EIP-712 typed data under the domain from \
`GET /.well-known/eip712-domain.json`, sent in five headers next to the credentials. \
Each operation that must be signed gives its kind, its target and its payload in `x-signature`; \
the payload is the exact text that is sent. docs/PROTOCOL.md in the source holds the \
bytes and vectors.

A 2xx answer to such a request is durable, and its `receipt` proves at once and offline that \
the log holds the action. `GET /ebus/actions/{id}/proof` gives the file that also leads to the \
Ethereum contract.

## Numbers

Whole numbers are written without a fraction or an exponent; numbers that can exceed 2^53 are texts.

## Lists

Lists are ordered by creation and come in pages: pass `cursor` of one page to get the next, until `has_more` is \
false. `offset` still works, is deprecated, and ends with v4.

## Limits

Requests are counted per organization: by its tier per minute and per UTC day, and by what some \
operations allow per minute (50 for making and changing objects, 10 for batches of actions, 20 for files, 10 for \
templates, 1,000 for the three lists of objects, templates and batches). Free allows 100 a minute and \
1,000 a day and costs nothing; Developer 500 and 50,000 for 99 USD a month; Enterprise 5,000 and any number, \
by agreement. Every answer shows the state of the limits in `X-RateLimit-*` and `RateLimit`; a 304 to a request with \
the `ETag` costs nothing. Without credentials a body has at most 16 KiB.

## Idempotency

A request that changes or sends something may carry an `Idempotency-Key`. Sent again with the same key and body, it \
does nothing twice and gets the first answer, with `Idempotent-Replayed: true`, also after its deadline. The answer is \
for the wallet or API key that asked, while it may still make the request; another caller of the organization gets \
IDEMPOTENCY_MISMATCH. A secret that the first answer showed is in it again, if the same address signs; use random keys. The tokens of a registration are not: log in.

## Compression

Answers of more than 1 KiB are compressed with zstd or gzip for callers whose `Accept-Encoding` names one of them, \
except for answers that show a secret, file contents and streams of events. Each compressed form \
has an `ETag` ending with `-gzip` or `-zstd`, and conditions accept the tag of any form. A weak tag, as some proxies \
make, is good for `If-None-Match` and never matches `If-Match`.

## Bodies

Bodies are JSON in UTF-8: `application/json`, or another type that ends with `+json`, but no JSON Patch. \
PATCH takes merge patches (RFC 7396), also as `application/merge-patch+json`; `Accept-Patch` says so.

## Schemas of templates

A template's schema is JSON Schema 2020-12 in one document, whose root is an object. `$ref` leads to a place of it by \
JSON Pointer (`#/$defs/name`). Refused are references to an `$anchor` or to another document, `$dynamicRef`, an `$id` \
below the root, and `true` or `false` as the whole schema.

## Names

Names and nicknames hold no invisible characters (those that Unicode says to ignore, and a few that look like nothing), \
and e-mail addresses none that PRECIS (RFC 8265) and UTS 46 disallow: no schema here says which these are.

## Order of reads and writes

Every answer carries `X-Request-Id`, which is also in the server's log, and `X-Sequence`, the \
last sequence that the answer reflects. A read with `min_sequence` waits for what the caller has \
written.

## Unknown outcomes

Every answer with UNAVAILABLE gives its `outcome`. `nothing_done`: nothing was done, and nothing will be. `unknown`: \
the request was on its way to the disk when the server could wait no longer, so it may be in the log. A \
connection that breaks off means the same. Then send exactly the same signed request again, with the same nonce and \
the same `Idempotency-Key`: its nonce is spent at most once, so it is done at most once. Never sign it again with \
another nonce before its deadline is past.

## Errors

Errors are `{code, status, body}`. Programs go by `code`; `body.message` states what to do. With \
`Accept: application/problem+json` errors follow RFC 9457. Only 429, 503, and a checkpoint that is \
not reached are worth a retry, after the seconds in `Retry-After`.

## Shares and quotas

An organization has a share of what is scarce at any moment (requests in flight, event streams, downloads, long \
reads, pages of lists, attempts at webhooks); past it 429 names the share in `body.policy`. Its part of \
the log has a quota of bytes: past it writes are 403 `QUOTA_EXCEEDED`, and reads are served.

## Earlier versions

Paths under `/v2` lead to their successors with a 301, which most clients follow with a GET, whatever \
they sent; the static headers `App-Id` and `App-Secret` are no longer credentials.";
