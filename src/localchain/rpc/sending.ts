import type { ChainView } from "../chain-view.ts";
import { Controls } from "../controls.ts";
import type { Json } from "../json.ts";
import { describeTransactionError } from "../transaction-error.ts";
import type { WireTransaction } from "../wire-transaction.ts";
import { PREFLIGHT_FAILURE, RpcError, SIGNATURE_VERIFICATION_FAILURE } from "./errors.ts";
import type { MethodTable } from "./method.ts";
import type { Params } from "./params.ts";
import { executionJson } from "./simulation.ts";
import { wireTransaction } from "./wire.ts";

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
