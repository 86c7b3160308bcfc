import type { Json } from "../json.ts";
import { FAUCET } from "../programs.ts";
import { MAX_RECENT_BLOCKHASHES } from "../slots.ts";
import type { ChainView } from "../chain-view.ts";
import {
  BLOCK_NOT_AVAILABLE,
  RpcError,
  PREFLIGHT_FAILURE,
  SIGNATURE_VERIFICATION_FAILURE,
  VALIDATOR_VERSION,
  withContext,
} from "./params.ts";
import type { Options, Params, MethodTable } from "./params.ts";
import { Controls } from "../controls.ts";
import { describeTransactionError } from "../transaction-error.ts";
import type { WireTransaction } from "../wire-transaction.ts";
import { executionJson, wireTransaction } from "./simulation.ts";

/** Slots of one epoch on mainnet. */
const SLOTS_PER_EPOCH = 432_000;

/** Methods about the cluster, its slots and its blockhashes. */
export const clusterMethods: MethodTable = {
  getHealth: () => "ok",
  getVersion: () => ({ "feature-set": 0, "solana-core": VALIDATOR_VERSION }),
  getIdentity: () => ({ identity: FAUCET.publicKey.toBase58() }),
  getGenesisHash: (view) => view.chain.genesisHash,
  getFirstAvailableBlock: () => 0,

  getSlot(view, params) {
    return contextSlot(view, params.options(0));
  },

  getBlockHeight(view, params) {
    return view.chain.slots.blockHeight(contextSlot(view, params.options(0)));
  },

  getEpochInfo(view, params): Json {
    const slot = contextSlot(view, params.options(0));
    return {
      absoluteSlot: slot,
      blockHeight: view.chain.slots.blockHeight(slot),
      epoch: Math.floor(slot / SLOTS_PER_EPOCH),
      slotIndex: slot % SLOTS_PER_EPOCH,
      slotsInEpoch: SLOTS_PER_EPOCH,
      transactionCount: view.chain.history.size,
    };
  },

  getLatestBlockhash(view, params): Json {
    const options = params.options(0);
    const slot = contextSlot(view, options);
    const { slots } = view.chain;
    return withContext(view, options.commitment(), {
      blockhash: slots.blockhash(slot),
      lastValidBlockHeight: slots.lastValidBlockHeight(slot),
    });
  },

  isBlockhashValid(view, params): Json {
    const options = params.options(1);
    contextSlot(view, options);
    return withContext(view, options.commitment(), view.chain.slots.isBlockhashValid(params.text(0)));
  },

  getBlockTime(view, params): Json {
    const slot = params.count(0);
    if (slot > view.slot) throw new RpcError(BLOCK_NOT_AVAILABLE, `Block not available for slot ${slot}`);
    return view.chain.slots.blockTime(slot);
  },

  getRecentPrioritizationFees(view): Json {
    const length = Math.min(MAX_RECENT_BLOCKHASHES / 2, view.slot);
    return Array.from({ length }, (_none, age) => ({
      slot: view.slot - length + 1 + age,
      prioritizationFee: 0,
    }));
  },
};

function contextSlot(view: ChainView, options: Options): number {
  const commitment = options.commitment();
  options.requireContextSlot(view, commitment);
  return view.slotAt(commitment);
}

/** Methods that write: they bring transactions onto the chain. */
export const sendingMethods: MethodTable = {
  sendTransaction(view: ChainView, params: Params): Json {
    const options = params.options(1);
    const transaction = wireTransaction(params.text(0), options);
    if (options.flag("skipPreflight") !== true) preflight(view, transaction);
    view.chain.submit(transaction); // without preflight, a refused transaction just never lands
    return transaction.signature;
  },

  requestAirdrop(view: ChainView, params: Params): Json {
    const record = new Controls(view.chain).airdrop(params.address(0), BigInt(params.count(1)), false);
    return record.transaction.signature;
  },
};

function preflight({ chain }: ChainView, transaction: WireTransaction): void {
  const outcome = chain.admission(transaction) ?? chain.simulate(transaction, true);
  if (outcome.err === null) return;
  if (outcome.err === "SignatureFailure") {
    throw new RpcError(SIGNATURE_VERIFICATION_FAILURE, "Transaction signature verification failure");
  }
  const message = `Transaction simulation failed: ${describeTransactionError(outcome.err)}`;
  throw new RpcError(PREFLIGHT_FAILURE, message, {
    ...executionJson(outcome),
    accounts: null,
    innerInstructions: null,
    replacementBlockhash: null,
  });
}
