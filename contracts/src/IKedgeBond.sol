// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {AnchoredAction, HeaderEvidence} from "./Evidence.sol";
import {ActionLeaf, Batch, Opening} from "./LogRecords.sol";

/// @title The bond of a log's operator
/// @notice Holds what the operator loses if a fault of the log is proven, or if a demand goes unanswered. Either one
/// freezes the anchor contract for good and takes the whole bond: at least half is burnt, the rest is the reporter's.
interface IKedgeBond {
    /// @notice The bond's terms, fixed for its life. Times are in seconds, amounts in wei.
    /// @param withdrawalDelayS From the request to the withdrawal; more than a challenge's window and answer together.
    /// @param challengeWindowS How long after its anchoring an action can be challenged.
    /// @param responseTimeS How long the operator has for an answer.
    /// @param revealDelayS How old a commitment must be when it is opened: longer than a copied transaction can be kept back.
    /// @param caseDepositWei What the first open case takes as its deposit; each further one as much more.
    /// @param openCasesMax How many cases may be open at a time.
    struct Terms {
        uint64 withdrawalDelayS;
        uint64 challengeWindowS;
        uint64 responseTimeS;
        uint64 revealDelayS;
        uint128 caseDepositWei;
        uint32 openCasesMax;
    }

    /// @notice The contracts that tell faults, all over the same anchor contract and with the withdrawal delay.
    /// @param log Faults of headers, checkpoints and leaves: an `IKedgeJudge`.
    /// @param state Faults that entries show: an `IKedgeStateJudge`.
    /// @param history Faults that entries show next to leaves: an `IKedgeStateHistoryJudge`.
    /// @param signer Faults of signers: an `IKedgeStateSignerJudge`.
    struct FaultJudges {
        address log;
        address state;
        address history;
        address signer;
    }

    /// @notice What an operator is asked for: an action's request, the anchoring of a signed header, a batch's leaves, the
    /// leaf of an entry, what the state holds under an id.
    enum CaseKind {
        Action,
        Inclusion,
        Leaves,
        Entry,
        State
    }

    /// @dev Answered and closed cases stay, so that nothing is asked for twice.
    enum CaseState {
        None,
        Open,
        Answered,
        Closed
    }

    /// @notice A case.
    /// @param opener Who opened it, and who gets the reward if there is no answer.
    /// @param deadline Until when it can be answered, in seconds of Unix time.
    /// @param state Where it is.
    /// @param deposit What the opener put down, in wei.
    /// @param openedAt When it was opened, in seconds of Unix time.
    struct Case {
        address opener;
        uint64 deadline;
        CaseState state;
        uint128 deposit;
        uint64 openedAt;
    }

    /// @notice A withdrawal under way.
    /// @param amount How much, in wei; zero if there is none.
    /// @param requestedAt When it was asked for, in seconds of Unix time.
    /// @param readyAt From when it can be done.
    struct Withdrawal {
        uint128 amount;
        uint64 requestedAt;
        uint64 readyAt;
    }

    /// @notice The bond grew.
    event Deposited(address indexed from, uint256 amount, uint256 bond);

    /// @notice The owner will take out `amount`, or, with zero, nothing after all.
    event WithdrawalRequested(uint256 amount, uint64 readyAt);

    /// @notice A case that was opened before a withdrawal is ready puts it off.
    event WithdrawalPutOff(uint64 readyAt);

    /// @notice The bond shrank by a withdrawal.
    event Withdrawn(address indexed to, uint256 amount);

    /// @notice Somebody has evidence and will show it.
    event Committed(bytes32 indexed commitment, address indexed reporter);

    /// @notice A fault was proven: `fault` is the selector of the judge's function, `evidence` the hash of the call.
    event FaultProven(address indexed reporter, bytes4 indexed fault, bytes32 evidence);

    /// @notice The bond was taken.
    event Slashed(address indexed reporter, uint256 burnt, uint256 reward);

    /// @notice The operator has until `deadline` for an answer. `leafHash` and `sequence` are those of a challenged action,
    /// `batchHash` is zero where the opener need not know it.
    event CaseOpened(
        bytes32 indexed id,
        CaseKind indexed kind,
        address indexed opener,
        uint64 number,
        bytes32 batchHash,
        bytes32 leafHash,
        uint64 sequence,
        uint64 deadline
    );

    /// @notice The case was answered; half of its deposit was burnt, the rest is the operator's.
    event CaseAnswered(bytes32 indexed id);

    /// @notice The opener has its deposit back, because there was no answer or the bond was taken for another fault.
    event CaseClosed(bytes32 indexed id);

    /// @notice Somebody took out what was owed.
    event Collected(address indexed account, address indexed to, uint256 amount);

    /// @notice The terms leave a fault unpunished, or no way to report it.
    error UnfitTerms();

    /// @notice The judge is one over another log, or with another delay.
    error UnfitJudge(address judge);

    /// @notice Only the anchor contract's owner withdraws.
    error NotTheOwner(address caller);

    /// @notice The anchor contract does not name this one: it could not be frozen.
    error NotNamed();

    /// @notice A fault was proven before; there is nothing left to decide.
    error AlreadyFrozen();

    /// @notice There is less than that.
    error NotEnough(uint256 amount, uint256 available);

    /// @notice Nothing can be withdrawn before that time, or nothing was asked for.
    error NotReady(uint64 readyAt);

    /// @notice There is no such commitment of this sender that is old enough; zero if there is none at all.
    error NotCommitted(uint256 readyAt);

    /// @notice The evidence is no call of a judge that proves a fault.
    error NotProven();

    /// @notice The deposit is below what a case takes now.
    error DepositTooSmall(uint256 sent, uint256 needed);

    /// @notice As many cases are open as the terms allow.
    error TooManyCases();

    /// @notice The same was asked for before.
    error CaseKnown(bytes32 id);

    /// @notice There is no such case, or it is over.
    error CaseNotOpen(bytes32 id);

    /// @notice The time for an answer is over.
    error AnswerTooLate(uint64 deadline);

    /// @notice The operator still has time for an answer.
    error AnswerStillPossible(uint64 deadline);

    /// @notice The action was anchored too long ago.
    error WindowClosed(uint256 closedAt);

    /// @notice The action could be challenged when it was.
    error WindowOpen(uint256 closedAt);

    /// @notice The batch is not in the checkpoint, or another contract of this log answers for it.
    error BatchOutOfReach(uint64 number);

    /// @notice The leaves are not the batch's.
    error LeavesOfAnotherBatch(uint64 number);

    /// @notice Adds to the bond. Anyone may.
    function deposit() external payable;

    /// @notice Begins a withdrawal, instead of one under way; zero calls it off. The owner of the anchor contract alone.
    function requestWithdrawal(uint128 amount) external;

    /// @notice Ends a withdrawal whose time has come.
    /// @param to Where the money goes.
    function withdraw(address payable to) external;

    /// @notice Announces evidence without showing it. `commitment` is what `commitmentOf` gives.
    function commit(bytes32 commitment) external;

    /// @notice Proves a fault: the anchor contract is frozen, the bond is taken.
    /// @param evidence The data of a call of the judge that proves it: the first one that has the function.
    /// @param salt The salt of the sender's commitment to keccak256 of `evidence`.
    function report(bytes calldata evidence, bytes32 salt) external;

    /// @notice Challenges an anchored action: the operator opens it with a request that its signer signed in time, or loses.
    /// @param action The action, by a checkpoint that was taken within the window.
    /// @param salt The salt of the sender's commitment to the case's id.
    function challengeAction(AnchoredAction calldata action, bytes32 salt) external payable;

    /// @notice Demands that a signed header is anchored.
    /// @param evidence The header with its signature.
    /// @param salt The salt of the sender's commitment to the case's id.
    function demandInclusion(HeaderEvidence calldata evidence, bytes32 salt) external payable;

    /// @notice Demands that the leaves of an anchored batch are published.
    /// @param anchoredBatches Names a checkpoint that holds the batch.
    /// @param number The batch's number.
    /// @param salt The salt of the sender's commitment to the case's id.
    function demandLeaves(uint64 anchoredBatches, uint64 number, bytes32 salt) external payable;

    /// @notice Answers a challenge: the action's signer signed it, in time.
    function answerAction(bytes32 batchHash, ActionLeaf calldata leaf, Opening calldata opening) external;

    /// @notice Answers a challenge: the window had closed, because an earlier checkpoint holds the batch too.
    /// @param header The batch's header.
    /// @param leafHash The challenged leaf.
    /// @param anchoredBatches Names the earlier checkpoint.
    /// @param path RFC 9162 inclusion path to its history.
    function answerStale(Batch calldata header, bytes32 leafHash, uint64 anchoredBatches, bytes32[] calldata path)
        external;

    /// @notice Answers a demand: the header is anchored.
    function answerInclusion(Batch calldata header, uint64 anchoredBatches, bytes32[] calldata path) external;

    /// @notice Answers a demand: these are the batch's leaves. They stay readable in the transaction's data.
    function answerLeaves(
        uint64 anchoredBatches,
        Batch calldata header,
        bytes32[] calldata path,
        bytes32[] calldata leaves
    ) external;

    /// @notice Ends a case that needs no answer any more: its time is over, and the bond is taken; or the bond was taken
    /// for another fault, and the deposit goes back. Anyone may.
    function settle(bytes32 id) external;

    /// @notice Takes out what is owed to the sender: rewards, deposits, the operator's part of answered cases.
    /// @param to Where the money goes.
    function collect(address payable to) external;

    /// @notice What `reporter` commits to.
    /// @param reporter Who will show the evidence.
    /// @param subject keccak256 of a report's evidence, or the id of a case.
    /// @param salt A secret of the reporter's.
    function commitmentOf(address reporter, bytes32 subject, bytes32 salt) external view returns (bytes32);

    /// @notice The bond, what is being withdrawn included.
    function bond() external view returns (uint256);

    /// @notice What stands behind the log's future too: the bond without what is being withdrawn.
    function secured() external view returns (uint256);

    /// @notice The withdrawal under way.
    function withdrawal() external view returns (Withdrawal memory);

    /// @notice A case by its id.
    function caseOf(bytes32 id) external view returns (Case memory);

    /// @notice How many cases are open.
    function openCases() external view returns (uint32);

    /// @notice What the next case takes as its deposit, in wei.
    function caseDeposit() external view returns (uint256);

    /// @notice What is owed to an account, in wei.
    function owed(address account) external view returns (uint256);

    /// @notice When a commitment was made, in seconds of Unix time; zero if it was not, or is used up.
    function committedAt(bytes32 commitment) external view returns (uint64);

    /// @notice The terms.
    function terms() external view returns (Terms memory);

    /// @notice The anchor contract that is frozen with a proven fault.
    function anchorContract() external view returns (address);

    /// @notice The contract that tells faults of headers, checkpoints and leaves.
    function judge() external view returns (address);

    /// @notice The contracts that tell faults.
    function judges() external view returns (FaultJudges memory);

    /// @notice The id of a challenge.
    function actionCaseId(bytes32 batchHash, bytes32 leafHash) external pure returns (bytes32);

    /// @notice The id of a demand to anchor a header.
    function inclusionCaseId(bytes32 batchHash) external pure returns (bytes32);

    /// @notice The id of a demand to publish a batch's leaves.
    function leavesCaseId(uint64 number) external pure returns (bytes32);
}
