import type { Json } from "../json.ts";
import { FAUCET } from "../programs/faucet.ts";
import { MAX_RECENT_BLOCKHASHES } from "../slots.ts";
import type { ChainView } from "../chain-view.ts";
import { BLOCK_NOT_AVAILABLE, RpcError } from "./errors.ts";
import { VALIDATOR_VERSION, withContext, type MethodTable } from "./method.ts";
import type { Options } from "./params.ts";

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
