"""State of a client: credentials, the log's domain and keys, nonces."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .calls import Call
from .errors import KedgeError
from .nonces import NonceCounter
from .retry import RetryPolicy
from .signing import Signer
from .verify.trust import Trust

_GIVE_TOKENS = ("login", "refreshToken", "registerWallet")


@dataclass(frozen=True)
class Tokens:
    """An access token, and the single-use refresh token for the next pair."""

    access: str
    refresh: str


class Session:
    """State of one client, shared by many threads or tasks."""

    def __init__(
        self,
        signer: Signer | None,
        api_key: str | None,
        tokens: Tokens | None,
        trust: Trust | None,
        retry: RetryPolicy,
        deadline_s: int,
        check_receipts: bool,
    ) -> None:
        self.signer = signer
        self.api_key = api_key
        self.tokens = tokens
        self.trust = trust
        self.retry = retry
        self.deadline_s = deadline_s
        self.check_receipts = check_receipts
        self.nonces = NonceCounter()
        self.wallet_id: str | None = None
        self.organization_id: str | None = None

    @property
    def acts_by_key_alone(self) -> bool:
        """Whether requests carry only an API key."""
        return self.tokens is None and self.api_key is not None

    def own_signer(self) -> Signer:
        """The signer.

        Raises:
            KedgeError: there is none.
        """
        if self.signer is None:
            raise KedgeError("this client cannot sign: give it a key")
        return self.signer

    def credentials(self, call: Call[Any]) -> dict[str, str]:
        """Headers that authenticate the caller."""
        if call.public:
            return {}
        headers = {}
        if self.api_key is not None:
            headers["x-api-key"] = self.api_key
        if self.tokens is not None:
            headers["authorization"] = f"Bearer {self.tokens.access}"
        return headers

    def learn_wallet(self, wallet: Mapping[str, Any]) -> None:
        """Records the wallet's ids, and the signer's highest nonce if the wallet states it."""
        self.wallet_id, self.organization_id = wallet["id"], wallet["organization_id"]
        if self.signer is None:
            return
        for entry in wallet.get("nonces", []):
            if entry["address"].lower() == self.signer.address.lower():
                self.nonces.learn(int(entry["highest"]))

    def learn(self, call: Call[Any], body: Any) -> None:
        """Records tokens of an answer, and drops those that end."""
        if call.operation in _GIVE_TOKENS:
            self.tokens = Tokens(body["access_token"], body["refresh_token"])
            if call.operation != "refreshToken":
                self.learn_wallet(body["wallet"])
        elif call.operation == "logout":
            self.tokens = None
        elif call.operation == "getOwnWallet":
            self.learn_wallet(body)
