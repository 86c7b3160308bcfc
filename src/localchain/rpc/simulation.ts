import { getCompiledTransactionMessageDecoder, type Address, type EncodedAccount } from "@solana/kit";
import type { ChainView } from "../chain-view.ts";
import { messageFee } from "../fees.ts";
import { parsedInstructionJson } from "../instruction-json.ts";
import type { Json } from "../json.ts";
import { returnDataJson } from "../transaction-json.ts";
import type { Execution, Simulation } from "../transaction-record.ts";
import type { WireTransaction } from "../wire-transaction.ts";
import { encodeAccount } from "./accounts.ts";
import { invalidParams, RpcError, SIGNATURE_VERIFICATION_FAILURE } from "./errors.ts";
import { withContext, type MethodTable } from "./method.ts";
import { parseAddress, Params, type Options } from "./params.ts";
import { wireTransaction } from "./wire.ts";

const messageDecoder = getCompiledTransactionMessageDecoder();

/** Methods that try a transaction without sending it. */
export const simulationMethods: MethodTable = {
  simulateTransaction(view, params) {
    const options = params.options(1);
    const transaction = wireTransaction(params.text(0), options);
    const replaced = options.flag("replaceRecentBlockhash") === true;
    const verify = options.flag("sigVerify") === true;
    if (replaced && verify) throw invalidParams("sigVerify may not be used with replaceRecentBlockhash");
    const refused = replaced ? null : view.chain.admission(transaction);
    const outcome: Simulation = refused ?? view.chain.simulate(transaction, verify);
    if (verify && outcome.err === "SignatureFailure") {
      throw new RpcError(SIGNATURE_VERIFICATION_FAILURE, "Transaction signature verification failure");
    }
    return withContext(view, "processed", {
      ...executionJson(outcome),
      accounts: accountsAfter(view, outcome, options),
      innerInstructions:
        options.flag("innerInstructions") === true ? innerInstructions(view, transaction, outcome) : null,
      replacementBlockhash: replaced ? latestBlockhash(view) : null,
    });
  },

  getFeeForMessage(view, params) {
    const commitment = params.options(1).commitment();
    let message: ReturnType<typeof messageDecoder.decode>;
    try {
      message = messageDecoder.decode(Buffer.from(params.text(0), "base64"));
    } catch {
      throw invalidParams("failed to deserialize solana_message::versions::VersionedMessage");
    }
    const valid = view.chain.slots.isBlockhashValid(message.lifetimeToken);
    return withContext(view, commitment, valid ? messageFee(message) : null);
  },
};

/** The execution part of a simulation or failed preflight. */
export function executionJson(outcome: Execution): { readonly [name: string]: Json } {
  return {
    err: outcome.err,
    logs: outcome.logs,
    returnData: outcome.returnData === null ? null : returnDataJson(outcome.returnData),
    unitsConsumed: outcome.computeUnits,
  };
}

function accountsAfter(view: ChainView, outcome: Simulation, options: Options): Json {
  const asked = options.object("accounts");
  if (asked === undefined) return null;
  const after = new Map<Address, EncodedAccount>(outcome.accountsAfter?.map((each) => [each.address, each]));
  return (asked.list("addresses") ?? []).map((each) => {
    const address = parseAddress(new Params([each]).text(0));
    return outcome.err === null
      ? encodeAccount(view, after.get(address) ?? view.chain.account(address), asked)
      : null;
  });
}

function innerInstructions(view: ChainView, transaction: WireTransaction, outcome: Execution): Json {
  const keys = view.chain.accountKeys(transaction)?.all ?? [];
  return outcome.innerInstructions.flatMap((calls, index) =>
    calls.length === 0
      ? []
      : [{ index, instructions: calls.map((call) => parsedInstructionJson(call, keys)) }],
  );
}

function latestBlockhash({ chain: { slots } }: ChainView): Json {
  return {
    blockhash: slots.blockhash(slots.current),
    lastValidBlockHeight: slots.lastValidBlockHeight(slots.current),
  };
}
