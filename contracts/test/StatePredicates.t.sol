// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ResourceIds} from "../src/ResourceIds.sol";
import {KindRule} from "../src/StateEntry.sol";
import {EntryForm, ShownEntry, StateFaults} from "../src/StateFaults.sol";
import {LeafFacts, StateHistory} from "../src/StateHistory.sol";
import {StateSigners} from "../src/StateSigners.sol";
import {TestBase} from "./support/TestBase.sol";

/// @dev Faults that the shared table leaves out, each with its near misses: one step to the innocent side of every bound.
contract StatePredicatesTest is TestBase {
    bytes32 private constant ORG = "org_35rx61b9m631xvdezsjp7mjky6";
    bytes32 private constant OTHER_ORG = "org_45rx61b9m631xvdezsjp7mjky6";
    bytes32 private constant WALLET = "wal_35rx61b9m631xvdezsjp7mjky6";
    bytes32 private constant OTHER_WALLET = "wal_45rx61b9m631xvdezsjp7mjky6";
    bytes32 private constant TEMPLATE = "tpl_35rx61b9m631xvdezsjp7mjky6";
    bytes32 private constant OBJECT = "obj_35rx61b9m631xvdezsjp7mjky6";
    bytes32 private constant FIRST = keccak256("first");
    address private constant OWNER_KEY = address(0xA1);
    address private constant SECOND_KEY = address(0xA2);
    address private constant OTHER_KEY = address(0xB1);

    function test_loneStep() public pure {
        ShownEntry memory a = _entry(OBJECT, 2, 20);
        ShownEntry memory b = _entry(OBJECT, 4, 40);
        assertTrue(!StateFaults.isLoneStep(a, b), "nothing changed");
        b.fields.version = 3;
        assertTrue(StateFaults.isLoneStep(a, b), "the version alone");
        b.fields.sequence = 11;
        assertTrue(StateFaults.isLoneStep(a, b), "without the integrity");
        b.fields.integrity = keccak256("second");
        assertTrue(!StateFaults.isLoneStep(a, b), "one step each");
        assertTrue(!StateFaults.isLoneStep(b, a), "in the other order too");
        b.fields.version = 4;
        assertTrue(StateFaults.isLoneStep(a, b), "two versions in one sequence");
        assertTrue(StateFaults.isLoneStep(b, a), "in the other order too");
        b.fields.sequence = 12;
        assertTrue(!StateFaults.isLoneStep(a, b), "two in two");
        b.fields.version = 1;
        assertTrue(StateFaults.isLoneStep(a, b), "a version less at a sequence more");
        b.fields.version = 2;
        assertTrue(StateFaults.isLoneStep(a, b), "one version, two integrities");
        b.fields.version = 3;
        b.id = TEMPLATE;
        assertTrue(!StateFaults.isLoneStep(a, b), "another id");
        b.id = OBJECT;
        b.form = EntryForm.Malformed;
        assertTrue(!StateFaults.isLoneStep(a, b), "a malformed entry");
    }

    function test_changedConstantOfAnObject() public pure {
        ShownEntry memory a = _object(2, 20);
        ShownEntry memory b = _next(_object(4, 40));
        assertTrue(!StateFaults.isConstantChanged(a, b), "an update");
        b.fields.organization = OTHER_ORG;
        assertTrue(StateFaults.isConstantChanged(a, b), "the organization");
        b.batches = 1;
        assertTrue(!StateFaults.isConstantChanged(a, b), "of an earlier checkpoint");
        b.batches = 2;
        assertTrue(StateFaults.isConstantChanged(a, b), "of the same checkpoint");
        b = _next(_object(4, 40));
        b.fields.template = "tpl_45rx61b9m631xvdezsjp7mjky6";
        assertTrue(StateFaults.isConstantChanged(a, b), "the template");
        b = _next(_object(4, 40));
        b.fields.variation = "var_45rx61b9m631xvdezsjp7mjky6";
        assertTrue(StateFaults.isConstantChanged(a, b), "the variation");
        b = _next(_object(4, 40));
        b.fields.serial = 2;
        assertTrue(StateFaults.isConstantChanged(a, b), "the serial");
        b = _next(_object(4, 40));
        b.fields.status = 1;
        assertTrue(!StateFaults.isConstantChanged(a, b), "locked");
        a.fields.status = 1;
        assertTrue(!StateFaults.isConstantChanged(a, b), "after locked");
        a.fields.status = 2;
        assertTrue(StateFaults.isConstantChanged(a, b), "after burned");
        b.fields.hash = a.fields.hash;
        assertTrue(!StateFaults.isConstantChanged(a, b), "burned, and the same");
    }

    function test_changedConstantOfOthers() public pure {
        ShownEntry memory a = _wallet(WALLET, 2, 20);
        ShownEntry memory b = _next(_wallet(WALLET, 4, 40));
        assertTrue(!StateFaults.isConstantChanged(a, b), "a wallet's update");
        b.fields.account = SECOND_KEY;
        assertTrue(StateFaults.isConstantChanged(a, b), "a wallet's address");
        a.fields.keys = new address[](0);
        b = _wallet(WALLET, 4, 40);
        b.fields.keys = a.fields.keys;
        b.fields.hash = keccak256("another role");
        assertTrue(!StateFaults.isConstantChanged(a, b), "a role after the removal");
        b.fields.integrity = keccak256("second");
        assertTrue(StateFaults.isConstantChanged(a, b), "a step after the removal");
        b = _wallet(WALLET, 4, 40);
        assertTrue(StateFaults.isConstantChanged(a, b), "keys after the removal");
        a = _template(2, 20);
        b = _template(4, 40);
        b.fields.mintedCount = 6;
        assertTrue(!StateFaults.isConstantChanged(a, b), "a count grew");
        b.fields.mintedCount = 4;
        assertTrue(StateFaults.isConstantChanged(a, b), "a count fell");
        b.fields.mintedCount = 5;
        b.fields.burnedCount = 2;
        assertTrue(StateFaults.isConstantChanged(a, b), "the burned fell");
        b.fields.burnedCount = 3;
        b.fields.variationCount = 0;
        assertTrue(StateFaults.isConstantChanged(a, b), "the variations fell");
        b.fields.variationCount = 1;
        b.fields.isBounded = true;
        assertTrue(StateFaults.isConstantChanged(a, b), "a bound of zero is a bound");
        _checkEnds("key_35rx61b9m631xvdezsjp7mjky6");
        _checkEnds("whk_35rx61b9m631xvdezsjp7mjky6");
        bytes32[4] memory whole = [
            bytes32("var_35rx61b9m631xvdezsjp7mjky6"),
            "fil_35rx61b9m631xvdezsjp7mjky6",
            "dsp_35rx61b9m631xvdezsjp7mjky6",
            "act_35rx61b9m631xvdezsjp7mjky6"
        ];
        for (uint256 i = 0; i < whole.length; ++i) {
            a = _entry(whole[i], 2, 20);
            b = _entry(whole[i], 4, 40);
            assertTrue(!StateFaults.isConstantChanged(a, b), "the same");
            b.fields.hash = keccak256("another");
            assertTrue(StateFaults.isConstantChanged(a, b), "anything else");
        }
        assertTrue(!StateFaults.isConstantChanged(_entry(ORG, 2, 20), _next(_entry(ORG, 4, 40))), "an organization");
    }

    function test_falseAddresses() public pure {
        ShownEntry memory object = _object(2, 20);
        ShownEntry memory template = _template(2, 20);
        assertTrue(!StateFaults.isOrganizationFalse(object, template), "one organization");
        template.fields.organization = OTHER_ORG;
        assertTrue(StateFaults.isOrganizationFalse(object, template), "two");
        template.batches = 3;
        assertTrue(!StateFaults.isOrganizationFalse(object, template), "at another checkpoint");
        ShownEntry memory a = _wallet(WALLET, 2, 20);
        ShownEntry memory b = _wallet(OTHER_WALLET, 4, 40);
        (b.fields.account, b.fields.keys[0]) = (OTHER_KEY, OTHER_KEY);
        assertTrue(!StateFaults.isAddressShared(a, b), "two addresses each");
        b.fields.keys[0] = SECOND_KEY;
        assertTrue(!StateFaults.isAddressShared(a, b), "a key that the other lacks");
        b.fields.keys[0] = OWNER_KEY;
        assertTrue(StateFaults.isAddressShared(a, b), "a key");
        b.fields.keys[0] = OTHER_KEY;
        b.fields.account = OWNER_KEY;
        assertTrue(StateFaults.isAddressShared(a, b), "an address");
        a.fields.account = SECOND_KEY;
        assertTrue(StateFaults.isAddressShared(a, b), "an address among keys");
        assertTrue(StateFaults.isAddressShared(b, a), "in the other order too");
        b.id = WALLET;
        assertTrue(!StateFaults.isAddressShared(a, b), "one wallet");
    }

    function test_hiddenChange() public pure {
        ShownEntry memory a = _object(2, 20);
        LeafFacts[] memory leaves = _chain(FIRST, "transfer", "emit");
        ShownEntry memory b = _led(_object(4, 40), leaves);
        assertTrue(!StateHistory.isChangeHidden(a, b, leaves), "no change");
        b.fields.propertiesHash = keccak256("other properties");
        assertTrue(StateHistory.isChangeHidden(a, b, leaves), "a change");
        leaves[1].isOpened = false;
        assertTrue(!StateHistory.isChangeHidden(a, b, leaves), "a leaf that is not opened");
        leaves[1].isOpened = true;
        string[3] memory changes = ["update", "set_attributes", "delete_attributes"];
        for (uint256 i = 0; i < changes.length; ++i) {
            leaves[1].kindHash = keccak256(bytes(changes[i]));
            assertTrue(!StateHistory.isChangeHidden(a, b, leaves), changes[i]);
        }
        leaves[1].kindHash = keccak256("emit");
        b.fields.integrity = FIRST;
        assertTrue(!StateHistory.isChangeHidden(a, b, leaves), "leaves that lead elsewhere");
    }

    function test_hiddenChangeOfATemplate() public pure {
        ShownEntry memory a = _template(2, 20);
        LeafFacts[] memory leaves = _chain(FIRST, "template.variations", "template.variations");
        ShownEntry memory b = _led(_template(4, 40), leaves);
        b.fields.variationCount = 9;
        assertTrue(!StateHistory.isChangeHidden(a, b, leaves), "variations");
        for (uint256 i = 0; i < 4; ++i) {
            b = _led(_template(4, 40), leaves);
            if (i == 0) b.fields.publicAccess = 1;
            else if (i == 1) b.fields.propertiesHash = FIRST;
            else if (i == 2) b.fields.schemaHash = FIRST;
            else b.fields.rulesHash = FIRST;
            assertTrue(StateHistory.isChangeHidden(a, b, leaves), "a change");
            leaves[0].kindHash = keccak256("template.update");
            assertTrue(!StateHistory.isChangeHidden(a, b, leaves), "an update");
            leaves[0].kindHash = keccak256("template.variations");
            leaves[0].isOpened = false;
            assertTrue(!StateHistory.isChangeHidden(a, b, leaves), "a leaf that is not opened");
            leaves[0].isOpened = true;
        }
    }

    function test_falseKeys() public pure {
        ShownEntry memory a = _wallet(WALLET, 2, 20);
        LeafFacts[] memory leaves = _chain(FIRST, "wallet.key_add", "wallet.update");
        ShownEntry memory b = _led(_wallet(WALLET, 4, 40), leaves);
        assertTrue(StateHistory.areKeysFalse(a, b, leaves), "one added, and none more");
        b.fields.keys = _keys(OWNER_KEY, SECOND_KEY);
        assertTrue(!StateHistory.areKeysFalse(a, b, leaves), "one added, and one more");
        b.fields.keys = _keys(SECOND_KEY, OTHER_KEY);
        assertTrue(StateHistory.areKeysFalse(a, b, leaves), "one added, and two new");
        leaves[1].kindHash = keccak256("wallet.key_remove");
        b.fields.keys = new address[](1);
        b.fields.keys[0] = OTHER_KEY;
        assertTrue(!StateHistory.areKeysFalse(a, b, leaves), "one added, one removed");
        leaves[0].kindHash = keccak256("wallet.update");
        leaves[1].kindHash = keccak256("wallet.update");
        assertTrue(StateHistory.areKeysFalse(a, b, leaves), "another key, and none added");
        leaves[1].isOpened = false;
        assertTrue(!StateHistory.areKeysFalse(a, b, leaves), "a leaf that is not opened");
        leaves[1].isOpened = true;
        b.fields.keys = new address[](0);
        assertTrue(!StateHistory.areKeysFalse(a, b, leaves), "removed from its organization");
    }

    function test_falseVersion() public pure {
        LeafFacts[] memory leaves = _chain(FIRST, "template.update", "template.update");
        ShownEntry memory a = _template(2, 20);
        ShownEntry memory b = _led(_template(4, 40), leaves);
        assertTrue(!StateHistory.isVersionFalse(a, b, leaves), "two leaves, two versions");
        leaves[0].isOpened = false;
        b.fields.version = 5;
        assertTrue(StateHistory.isVersionFalse(a, b, leaves), "three versions");
        b.fields.version = 3;
        assertTrue(StateHistory.isVersionFalse(a, b, leaves), "one version");
        b.fields.integrity = FIRST;
        assertTrue(!StateHistory.isVersionFalse(a, b, leaves), "leaves that lead elsewhere");
    }

    function test_deadHand() public pure {
        ShownEntry memory object = _object(2, 20);
        LeafFacts memory leaf = _leaf(21, FIRST, "transfer");
        assertTrue(!StateSigners.isHandDead(object, leaf), "active");
        object.fields.status = 1;
        assertTrue(StateSigners.isHandDead(object, leaf), "locked");
        leaf.isOpened = false;
        assertTrue(!StateSigners.isHandDead(object, leaf), "locked, not opened");
        object.fields.status = 2;
        assertTrue(StateSigners.isHandDead(object, leaf), "burned, not opened");
        leaf = _leaf(21, keccak256("something else"), "transfer");
        assertTrue(!StateSigners.isHandDead(object, leaf), "extends something else");
        leaf = _leaf(21, FIRST, "unlock");
        object.fields.status = 1;
        assertTrue(!StateSigners.isHandDead(object, leaf), "unlocked");
        object.fields.status = 0;
        assertTrue(StateSigners.isHandDead(object, leaf), "unlocked, and was not locked");
        ShownEntry memory wallet = _wallet(WALLET, 2, 20);
        leaf = _leaf(21, FIRST, "wallet.update");
        assertTrue(!StateSigners.isHandDead(wallet, leaf), "a wallet with keys");
        wallet.fields.keys = new address[](0);
        assertTrue(StateSigners.isHandDead(wallet, leaf), "a wallet without keys");
        ShownEntry memory hook = _entry("whk_35rx61b9m631xvdezsjp7mjky6", 2, 20);
        assertTrue(!StateSigners.isHandDead(hook, leaf), "a webhook");
        hook.fields.isDeleted = true;
        assertTrue(StateSigners.isHandDead(hook, leaf), "a deleted webhook");
        object.fields.integrity = 0;
        assertTrue(!StateHistory.extends(_leaf(21, 0, "mint"), 0), "nothing extends zero");
    }

    /// @dev (c): the owner was removed before the action.
    function test_trespassOfARemovedOwner() public pure {
        ShownEntry memory object = _object(2, 20);
        ShownEntry memory template = _template(2, 20);
        ShownEntry memory owner = _wallet(WALLET, 4, 40);
        owner.fields.keys = new address[](0);
        LeafFacts memory leaf = _leaf(41, FIRST, "update");
        LeafFacts[] memory none = new LeafFacts[](0);
        assertTrue(StateSigners.isTrespass(object, template, none, leaf, owner), "removed at 40, updated at 41");
        leaf.sequence = 40;
        assertTrue(!StateSigners.isTrespass(object, template, none, leaf, owner), "removed by 40, updated at 40");
        leaf.sequence = 41;
        leaf.isOpened = false;
        assertTrue(!StateSigners.isTrespass(object, template, none, leaf, owner), "not opened");
        leaf.isOpened = true;
        owner.id = OTHER_WALLET;
        assertTrue(!StateSigners.isTrespass(object, template, none, leaf, owner), "another wallet");
        owner.id = WALLET;
        template.fields.rules = _rule("update", 2);
        assertTrue(!StateSigners.isTrespass(object, template, none, leaf, owner), "left to anyone");
        template.fields.rules = _rule("update", 0);
        assertTrue(StateSigners.isTrespass(object, template, none, leaf, owner), "left to the owner by a rule");
        leaf.sequence = 20;
        owner.sequence = 19;
        assertTrue(!StateSigners.isTrespass(object, template, none, leaf, owner), "within the checkpoint");
        LeafFacts[] memory moved = _chain(FIRST, "emit", "transfer");
        leaf = _leaf(41, moved[1].integrity, "update");
        assertTrue(!StateSigners.isTrespass(object, template, moved, leaf, owner), "after a transfer");
        moved[1].kindHash = keccak256("emit");
        assertTrue(StateSigners.isTrespass(object, template, moved, leaf, owner), "after an emit");
    }

    function test_foreignHandOfAWallet() public pure {
        ShownEntry memory wallet = _wallet(WALLET, 2, 20);
        LeafFacts memory leaf = _leaf(21, FIRST, "wallet.update");
        leaf.signer = OTHER_KEY;
        assertTrue(StateSigners.isHandUnknown(wallet, leaf), "none of its keys");
        leaf.signer = OWNER_KEY;
        assertTrue(!StateSigners.isHandUnknown(wallet, leaf), "its key");
        leaf.signer = OTHER_KEY;
        leaf.isOpened = false;
        assertTrue(!StateSigners.isHandUnknown(wallet, leaf), "not opened");
        string[4] memory own = ["system.tier", "system.verdict", "system.webhook_off", "system.sequencer_key"];
        for (uint256 i = 0; i < own.length; ++i) {
            leaf = _leaf(21, FIRST, own[i]);
            leaf.signer = OTHER_KEY;
            assertTrue(!StateSigners.isHandUnknown(wallet, leaf), "the operator's own");
        }
        leaf = _leaf(21, keccak256("something else"), "wallet.update");
        leaf.signer = OTHER_KEY;
        assertTrue(!StateSigners.isHandUnknown(wallet, leaf), "extends something else");
    }

    function test_foreignMaker() public pure {
        bytes3[4] memory prefixes = [ResourceIds.TEMPLATE, ResourceIds.API_KEY, ResourceIds.WEBHOOK, ResourceIds.FILE];
        string[4] memory kinds = ["template.create", "key.create", "webhook.create", "file.create"];
        for (uint256 i = 0; i < prefixes.length; ++i) {
            LeafFacts memory leaf = _leaf(11, 0, kinds[i]);
            ShownEntry memory made = _entry(ResourceIds.madeBy(leaf.content, prefixes[i], 0), 2, 20);
            made.fields.wallet = WALLET;
            ShownEntry memory wallet = _wallet(WALLET, 4, 40);
            assertTrue(!StateSigners.isMakerForeign(made, leaf, wallet), "its own organization");
            wallet.fields.organization = OTHER_ORG;
            assertTrue(StateSigners.isMakerForeign(made, leaf, wallet), "another organization");
            leaf.signer = OTHER_KEY;
            assertTrue(!StateSigners.isMakerForeign(made, leaf, wallet), "not this wallet's key");
            leaf.signer = OWNER_KEY;
            leaf.kindHash = keccak256("mint");
            assertTrue(!StateSigners.isMakerForeign(made, leaf, wallet), "another kind");
            leaf.kindHash = keccak256(bytes(kinds[i]));
            made.id = ResourceIds.madeBy(leaf.content, prefixes[i], 1);
            assertTrue(!StateSigners.isMakerForeign(made, leaf, wallet), "not what it made");
            made.id = ResourceIds.madeBy(leaf.content, prefixes[i], 0);
            wallet = _wallet(OTHER_WALLET, 4, 40);
            bool isFile = prefixes[i] == ResourceIds.FILE;
            assertTrue(StateSigners.isMakerForeign(made, leaf, wallet) == isFile, "another wallet, for a file");
        }
    }

    function test_foreignMint() public pure {
        ShownEntry memory template = _template(2, 20);
        ShownEntry memory wallet = _wallet(OTHER_WALLET, 4, 40);
        wallet.fields.organization = OTHER_ORG;
        LeafFacts memory leaf = _leaf(20, 0, "mint");
        leaf.targetHash = keccak256(ResourceIds.text(TEMPLATE));
        assertTrue(StateSigners.isMintForeign(template, leaf, wallet), "at the checkpoint's last sequence");
        leaf.sequence = 21;
        assertTrue(!StateSigners.isMintForeign(template, leaf, wallet), "after the checkpoint");
        leaf.sequence = 11;
        assertTrue(StateSigners.isMintForeign(template, leaf, wallet), "one after the template's last change");
        leaf.sequence = 10;
        assertTrue(!StateSigners.isMintForeign(template, leaf, wallet), "at the template's last change");
        leaf.sequence = 11;
        for (uint64 who = 0; who < 3; ++who) {
            template.fields.rules = _rule("mint", who);
            assertTrue(StateSigners.isMintForeign(template, leaf, wallet) == (who == 1), "the issuer's by its rule");
        }
        template.fields.rules = _rule("update", 2);
        assertTrue(StateSigners.isMintForeign(template, leaf, wallet), "the issuer's without one");
        wallet.fields.organization = ORG;
        assertTrue(!StateSigners.isMintForeign(template, leaf, wallet), "the issuer");
        wallet.fields.organization = OTHER_ORG;
        leaf.targetHash = keccak256("another template");
        assertTrue(!StateSigners.isMintForeign(template, leaf, wallet), "another template");
        leaf.targetHash = keccak256(ResourceIds.text(TEMPLATE));
        leaf.signer = OTHER_KEY;
        assertTrue(!StateSigners.isMintForeign(template, leaf, wallet), "not this wallet's key");
    }

    function test_liveUpdate() public pure {
        ShownEntry memory object = _object(2, 20);
        LeafFacts memory leaf = _leaf(20, FIRST, "template.update");
        leaf.targetHash = keccak256(ResourceIds.text(TEMPLATE));
        assertTrue(StateSigners.isUpdateLive(object, leaf), "at the checkpoint's last sequence");
        leaf.sequence = 21;
        assertTrue(!StateSigners.isUpdateLive(object, leaf), "after the checkpoint");
        leaf.sequence = 11;
        assertTrue(StateSigners.isUpdateLive(object, leaf), "one after the object's last change");
        leaf.sequence = 10;
        assertTrue(!StateSigners.isUpdateLive(object, leaf), "at the object's last change");
        leaf.sequence = 11;
        object.fields.status = 2;
        assertTrue(!StateSigners.isUpdateLive(object, leaf), "burned");
        object.fields.status = 1;
        assertTrue(StateSigners.isUpdateLive(object, leaf), "locked");
        leaf.kindHash = keccak256("template.variations");
        assertTrue(!StateSigners.isUpdateLive(object, leaf), "variations");
    }

    function test_falseMinter() public pure {
        LeafFacts memory leaf = _leaf(10, 0, "mint");
        leaf.payloadHash = keccak256("{}");
        ShownEntry memory object = _made(leaf, ResourceIds.OBJECT);
        object.fields.template = TEMPLATE;
        object.fields.wallet = OTHER_WALLET;
        ShownEntry memory wallet = _wallet(WALLET, 4, 40);
        assertTrue(StateSigners.isMinterFalse(object, leaf, wallet), "another owner");
        object.fields.wallet = WALLET;
        assertTrue(!StateSigners.isMinterFalse(object, leaf, wallet), "the signer's wallet");
        object.fields.wallet = OTHER_WALLET;
        leaf.payloadHash = keccak256("{ }");
        assertTrue(!StateSigners.isMinterFalse(object, leaf, wallet), "another payload");
        leaf.payloadHash = StateHistory.namingPayload("to", WALLET);
        leaf.targetHash = keccak256(ResourceIds.text(TEMPLATE));
        assertTrue(StateHistory.isEntryFalse(object, leaf, "mint", WALLET), "another owner than the named one");
        assertTrue(!StateHistory.isEntryFalse(object, leaf, "mint", 0), "no name");
        object.fields.wallet = WALLET;
        assertTrue(!StateHistory.isEntryFalse(object, leaf, "mint", WALLET), "the named one");
    }

    function test_falseRegistration() public pure {
        LeafFacts memory leaf = _leaf(10, 0, "wallet.register");
        ShownEntry memory wallet = _wallet(ResourceIds.madeBy(leaf.content, ResourceIds.WALLET, 0), 2, 20);
        wallet.fields.version = 7;
        assertTrue(!StateSigners.isRegistrationFalse(wallet, leaf), "its signer's address");
        wallet.fields.account = OTHER_KEY;
        assertTrue(StateSigners.isRegistrationFalse(wallet, leaf), "another address");
        leaf.isOpened = false;
        assertTrue(!StateSigners.isRegistrationFalse(wallet, leaf), "not opened");
        leaf.isOpened = true;
        wallet.id = WALLET;
        assertTrue(!StateSigners.isRegistrationFalse(wallet, leaf), "not what it made");
    }

    function test_falseDisputeAndSequencerKey() public pure {
        LeafFacts memory leaf = _leaf(10, 0, "system.verdict");
        ShownEntry memory dispute = _made(leaf, ResourceIds.DISPUTE);
        dispute.fields.subject = OBJECT;
        leaf.targetHash = keccak256(ResourceIds.text(OBJECT));
        assertTrue(!StateHistory.isEntryFalse(dispute, leaf, "system.verdict", 0), "its subject");
        leaf.targetHash = keccak256(ResourceIds.text(TEMPLATE));
        assertTrue(StateHistory.isEntryFalse(dispute, leaf, "system.verdict", 0), "another subject");
        leaf = _leaf(10, 0, "system.sequencer_key");
        ShownEntry memory key = _made(leaf, ResourceIds.ACTION);
        assertEq(bytes32(bytes3(key.id)), bytes32(bytes3("act")), "an action's id");
        key.fields.account = 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed;
        leaf.targetHash = keccak256("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed");
        assertTrue(!StateHistory.isEntryFalse(key, leaf, "system.sequencer_key", 0), "its address");
        leaf.targetHash = keccak256("0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed");
        assertTrue(StateHistory.isEntryFalse(key, leaf, "system.sequencer_key", 0), "not in EIP-55");
        assertTrue(!StateHistory.isEntryFalse(key, leaf, "system.verdict", 0), "the plain text of another kind");
    }

    function test_falseVariation() public pure {
        LeafFacts memory leaf = _leaf(10, FIRST, "template.variations");
        leaf.targetHash = keccak256(ResourceIds.text(TEMPLATE));
        for (uint32 i = 0; i <= 500; i += 100) {
            uint32 index = i == 0 ? 0 : i - 1;
            ShownEntry memory variation = _variation(leaf, index, index);
            assertTrue(!StateHistory.isEntryFalse(variation, leaf, "", 0), "one that it made");
        }
        assertTrue(StateHistory.isEntryFalse(_variation(leaf, 500, 500), leaf, "", 0), "the 501st");
        assertTrue(StateHistory.isEntryFalse(_variation(leaf, 1, 2), leaf, "", 0), "another one's integrity");
        ShownEntry memory right = _variation(leaf, 3, 3);
        leaf.targetHash = keccak256("another template");
        assertTrue(StateHistory.isEntryFalse(right, leaf, "", 0), "another template");
        leaf.targetHash = keccak256(ResourceIds.text(TEMPLATE));
        leaf.kindHash = keccak256("template.update");
        assertTrue(StateHistory.isEntryFalse(right, leaf, "", 0), "another kind");
        leaf.isOpened = false;
        assertTrue(!StateHistory.isEntryFalse(right, leaf, "", 0), "not opened");
    }

    function _variation(LeafFacts memory leaf, uint32 id, uint32 integrity)
        private
        pure
        returns (ShownEntry memory variation)
    {
        variation = _entry(ResourceIds.madeBy(leaf.content, ResourceIds.VARIATION, id), 2, 20);
        variation.fields.version = 1;
        variation.fields.template = TEMPLATE;
        variation.fields.integrity =
            keccak256(abi.encodePacked(bytes32(0), keccak256(abi.encodePacked(leaf.content, integrity + 1))));
    }

    function _checkEnds(bytes32 id) private pure {
        ShownEntry memory a = _entry(id, 2, 20);
        ShownEntry memory b = _next(_entry(id, 4, 40));
        assertTrue(!StateFaults.isConstantChanged(a, b), "a change");
        a.fields.isDeleted = true;
        assertTrue(StateFaults.isConstantChanged(a, b), "after the deletion");
        b.fields.hash = a.fields.hash;
        assertTrue(!StateFaults.isConstantChanged(a, b), "the same");
    }

    /// @dev Version 2 at sequence 10.
    function _entry(bytes32 id, uint64 batches, uint64 sequence) private pure returns (ShownEntry memory shown) {
        shown.id = id;
        shown.batches = batches;
        shown.sequence = sequence;
        shown.form = EntryForm.Present;
        shown.fields.hash = keccak256("entry");
        shown.fields.version = 2;
        shown.fields.sequence = 10;
        shown.fields.integrity = FIRST;
        shown.fields.organization = ORG;
    }

    /// @dev What a leaf made, in version 1.
    function _made(LeafFacts memory leaf, bytes3 prefix) private pure returns (ShownEntry memory shown) {
        shown = _entry(ResourceIds.madeBy(leaf.content, prefix, 0), 2, 20);
        shown.fields.version = 1;
        shown.fields.sequence = leaf.sequence;
        shown.fields.integrity = leaf.integrity;
    }

    function _object(uint64 batches, uint64 sequence) private pure returns (ShownEntry memory shown) {
        shown = _entry(OBJECT, batches, sequence);
        shown.fields.template = TEMPLATE;
        shown.fields.wallet = WALLET;
        shown.fields.serial = 1;
    }

    function _wallet(bytes32 id, uint64 batches, uint64 sequence) private pure returns (ShownEntry memory shown) {
        shown = _entry(id, batches, sequence);
        shown.fields.account = OWNER_KEY;
        shown.fields.keys = new address[](1);
        shown.fields.keys[0] = OWNER_KEY;
    }

    function _template(uint64 batches, uint64 sequence) private pure returns (ShownEntry memory shown) {
        shown = _entry(TEMPLATE, batches, sequence);
        shown.fields.mintedCount = 5;
        shown.fields.burnedCount = 3;
        shown.fields.variationCount = 1;
    }

    /// @dev One step later.
    function _next(ShownEntry memory shown) private pure returns (ShownEntry memory) {
        shown.fields.version += 1;
        shown.fields.sequence += 1;
        shown.fields.integrity = keccak256("second");
        shown.fields.hash = keccak256("second entry");
        return shown;
    }

    /// @dev Where the leaves lead from version 2.
    function _led(ShownEntry memory shown, LeafFacts[] memory leaves) private pure returns (ShownEntry memory) {
        shown.fields.version += uint64(leaves.length);
        shown.fields.integrity = leaves[leaves.length - 1].integrity;
        return shown;
    }

    function _leaf(uint64 sequence, bytes32 previous, string memory kind) private pure returns (LeafFacts memory leaf) {
        leaf.sequence = sequence;
        leaf.content = keccak256(abi.encode(sequence, kind));
        leaf.integrity = keccak256(abi.encodePacked(previous, leaf.content));
        leaf.isOpened = true;
        leaf.kindHash = keccak256(bytes(kind));
        leaf.signer = OWNER_KEY;
    }

    function _chain(bytes32 previous, string memory first, string memory second)
        private
        pure
        returns (LeafFacts[] memory leaves)
    {
        leaves = new LeafFacts[](2);
        leaves[0] = _leaf(21, previous, first);
        leaves[1] = _leaf(22, leaves[0].integrity, second);
    }

    function _keys(address first, address second) private pure returns (address[] memory keys) {
        keys = new address[](2);
        (keys[0], keys[1]) = (first, second);
    }

    function _rule(string memory kind, uint64 who) private pure returns (KindRule[] memory rules) {
        rules = new KindRule[](1);
        rules[0] = KindRule({kindHash: keccak256(bytes(kind)), who: who});
    }
}
