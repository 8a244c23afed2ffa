// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ResourceIds} from "./ResourceIds.sol";

/// @title Kinds of actions, by their keccak256
/// @notice Which kind makes a resource, and which ones act on it.
library ActionKinds {
    bytes32 internal constant MINT = keccak256("mint");
    bytes32 internal constant UPDATE = keccak256("update");
    bytes32 internal constant SET_ATTRIBUTES = keccak256("set_attributes");
    bytes32 internal constant DELETE_ATTRIBUTES = keccak256("delete_attributes");
    bytes32 internal constant TRANSFER = keccak256("transfer");
    bytes32 internal constant LOCK = keccak256("lock");
    bytes32 internal constant UNLOCK = keccak256("unlock");
    bytes32 internal constant BURN = keccak256("burn");
    bytes32 internal constant EMIT = keccak256("emit");
    bytes32 internal constant WALLET_REGISTER = keccak256("wallet.register");
    bytes32 internal constant WALLET_UPDATE = keccak256("wallet.update");
    bytes32 internal constant WALLET_KEY_ADD = keccak256("wallet.key_add");
    bytes32 internal constant WALLET_KEY_REMOVE = keccak256("wallet.key_remove");
    bytes32 internal constant ORG_INVITE = keccak256("org.invite");
    bytes32 internal constant ORG_INVITATION_REVOKE = keccak256("org.invitation_revoke");
    bytes32 internal constant ORG_ROLE = keccak256("org.role");
    bytes32 internal constant ORG_MEMBER_REMOVE = keccak256("org.member_remove");
    bytes32 internal constant TEMPLATE_CREATE = keccak256("template.create");
    bytes32 internal constant TEMPLATE_UPDATE = keccak256("template.update");
    bytes32 internal constant TEMPLATE_VARIATIONS = keccak256("template.variations");
    bytes32 internal constant KEY_CREATE = keccak256("key.create");
    bytes32 internal constant KEY_DELETE = keccak256("key.delete");
    bytes32 internal constant KEY_ROTATE = keccak256("key.rotate");
    bytes32 internal constant WEBHOOK_CREATE = keccak256("webhook.create");
    bytes32 internal constant WEBHOOK_UPDATE = keccak256("webhook.update");
    bytes32 internal constant WEBHOOK_DELETE = keccak256("webhook.delete");
    bytes32 internal constant WEBHOOK_ROTATE = keccak256("webhook.rotate");
    bytes32 internal constant FILE_CREATE = keccak256("file.create");
    bytes32 internal constant SYSTEM_TIER = keccak256("system.tier");
    bytes32 internal constant SYSTEM_VERDICT = keccak256("system.verdict");
    bytes32 internal constant SYSTEM_WEBHOOK_OFF = keccak256("system.webhook_off");
    bytes32 internal constant SYSTEM_SEQUENCER_KEY = keccak256("system.sequencer_key");

    /// @notice The kind whose first resource of this prefix it makes; zero for organizations and variations, which are made
    /// next to another resource.
    function maker(bytes3 prefix) internal pure returns (bytes32) {
        if (prefix == ResourceIds.OBJECT) return MINT;
        if (prefix == ResourceIds.WALLET) return WALLET_REGISTER;
        if (prefix == ResourceIds.TEMPLATE) return TEMPLATE_CREATE;
        if (prefix == ResourceIds.API_KEY) return KEY_CREATE;
        if (prefix == ResourceIds.WEBHOOK) return WEBHOOK_CREATE;
        if (prefix == ResourceIds.FILE) return FILE_CREATE;
        if (prefix == ResourceIds.DISPUTE) return SYSTEM_VERDICT;
        if (prefix == ResourceIds.ACTION) return SYSTEM_SEQUENCER_KEY;
        return 0;
    }

    /// @notice Whether actions of the kind may make resources with this prefix: a registration makes an organization too.
    function isMaker(bytes32 kind, bytes3 prefix) internal pure returns (bool) {
        if (prefix == ResourceIds.ORGANIZATION) return kind == WALLET_REGISTER;
        if (prefix == ResourceIds.VARIATION) return kind == TEMPLATE_VARIATIONS;
        return kind != 0 && kind == maker(prefix);
    }

    /// @notice Whether the kind makes, or acts on, resources with this prefix. Kinds of templates are not known here.
    function isKindOf(bytes32 kind, bytes3 prefix) internal pure returns (bool) {
        if (kind == maker(prefix)) return true;
        if (prefix == ResourceIds.OBJECT) return isOwnersByDefault(kind);
        if (prefix == ResourceIds.WALLET) {
            return kind == WALLET_UPDATE || kind == WALLET_KEY_ADD || kind == WALLET_KEY_REMOVE;
        }
        if (prefix == ResourceIds.ORGANIZATION) {
            return kind == ORG_INVITE || kind == ORG_INVITATION_REVOKE || kind == ORG_ROLE || kind == ORG_MEMBER_REMOVE
                || kind == SYSTEM_TIER;
        }
        if (prefix == ResourceIds.TEMPLATE) return kind == TEMPLATE_UPDATE || kind == TEMPLATE_VARIATIONS;
        if (prefix == ResourceIds.API_KEY) return kind == KEY_DELETE || kind == KEY_ROTATE;
        return prefix == ResourceIds.WEBHOOK
            && (kind == WEBHOOK_UPDATE
                || kind == WEBHOOK_DELETE
                || kind == WEBHOOK_ROTATE
                || kind == SYSTEM_WEBHOOK_OFF);
    }

    /// @notice Whether the kind is left to an object's owner where the template has no rule for it.
    function isOwnersByDefault(bytes32 kind) internal pure returns (bool) {
        return isChange(kind) || kind == TRANSFER || kind == LOCK || kind == UNLOCK || kind == BURN || kind == EMIT;
    }

    /// @notice Whether the kind changes an object's properties.
    function isChange(bytes32 kind) internal pure returns (bool) {
        return kind == UPDATE || kind == SET_ATTRIBUTES || kind == DELETE_ATTRIBUTES;
    }

    /// @notice Whether the operator's own key signs actions of the kind on what belongs to others.
    function isOperators(bytes32 kind) internal pure returns (bool) {
        return
            kind == SYSTEM_TIER || kind == SYSTEM_VERDICT || kind == SYSTEM_WEBHOOK_OFF || kind == SYSTEM_SEQUENCER_KEY;
    }

    /// @notice Whether a kind's plain text is one that a template may name: it begins with `x.`.
    function isCustom(string memory kind) internal pure returns (bool) {
        bytes memory text = bytes(kind);
        return text.length >= 2 && text[0] == "x" && text[1] == ".";
    }
}
