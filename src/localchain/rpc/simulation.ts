import { base58 } from "@scure/base";
import { getCompiledTransactionMessageDecoder } from "@solana/kit";
import type { Address, EncodedAccount, CompiledTransactionMessage } from "@solana/kit";
import { decodeTransaction, compiledInstructions } from "../wire-transaction.ts";
import type { WireTransaction, Execution, Simulation } from "../wire-transaction.ts";
import type { ChainView } from "../chain-view.ts";
import { parsedInstructionJson, returnDataJson, transactionConfig } from "../transaction-json.ts";
import type { Json } from "../json.ts";
import { COMPUTE_BUDGET_PROGRAM } from "../accounts.ts";
import {
  invalidParams,
  RpcError,
  SIGNATURE_VERIFICATION_FAILURE,
  parseAddress,
  Params,
  withContext,
} from "./params.ts";
import type { Options, MethodTable } from "./params.ts";
import { encodeAccount } from "./accounts.ts";

/** One packet holds a legacy or v0 transaction; v1 transactions may take more of them. */
const PACKET_DATA_SIZE = 1232;
const MAX_V1_SIZE = 4096;
/** First byte of a v1 transaction: the message, which precedes its signatures. */
const V1_PREFIX = 0x81;

/** Decodes a parameter of `sendTransaction` or `simulateTransaction`; base58 unless `encoding` is base64. */
export function wireTransaction(text: string, options: Options): WireTransaction {
  const encoding = options.text("encoding") ?? "base58";
  if (encoding !== "base58" && encoding !== "base64") {
    throw invalidParams(`unsupported encoding: ${encoding}. Supported encodings: base58, base64`);
  }
  const bytes = decodeText(text, encoding);
  const limit = bytes[0] === V1_PREFIX ? MAX_V1_SIZE : PACKET_DATA_SIZE;
  if (bytes.length > limit) {
    throw invalidParams(
      `decoded solana_transaction::versioned::VersionedTransaction too large: ${bytes.length} bytes ` +
        `(max: ${limit} bytes)`,
    );
  }
  try {
    return decodeTransaction(bytes);
  } catch (error) {
    throw invalidParams(
      `failed to deserialize solana_transaction::versioned::VersionedTransaction: ${String(error)}`,
    );
  }
}

function decodeText(text: string, encoding: "base58" | "base64"): Uint8Array {
  if (encoding === "base64") {
    const bytes = Buffer.from(text, "base64");
    if (bytes.toString("base64") !== text) throw invalidParams("invalid base64 encoding");
    return Uint8Array.from(bytes);
  }
  try {
    return base58.decode(text);
  } catch {
    throw invalidParams("invalid base58 encoding");
  }
}

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

/** Lamports for each signature (Solana docs, "Transaction fees"). */
const LAMPORTS_PER_SIGNATURE = 5_000n;
const MICRO_LAMPORTS_PER_LAMPORT = 1_000_000n;
const DEFAULT_UNITS_PER_INSTRUCTION = 200_000n;
const MAX_UNITS = 1_400_000n;
/** Discriminators of the ComputeBudget instructions. */
const SET_COMPUTE_UNIT_LIMIT = 2;
const SET_COMPUTE_UNIT_PRICE = 3;

/** A message's fee, lamports: signatures, and the priority fee rounded up. */
function messageFee(message: CompiledTransactionMessage): bigint {
  const base = LAMPORTS_PER_SIGNATURE * BigInt(message.header.numSignerAccounts);
  return (
    base + (message.version === 1 ? (transactionConfig(message).priorityFee ?? 0n) : priorityFee(message))
  );
}

function priorityFee(message: Exclude<CompiledTransactionMessage, { version: 1 }>): bigint {
  let price = 0n; // micro-lamports per compute unit
  let limit: bigint | undefined;
  let others = 0n;
  for (const { programIndex, data } of compiledInstructions(message)) {
    if (message.staticAccounts[programIndex] !== COMPUTE_BUDGET_PROGRAM) {
      others++;
      continue;
    }
    const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
    if (data[0] === SET_COMPUTE_UNIT_LIMIT && data.length === 5) limit = BigInt(view.getUint32(1, true));
    if (data[0] === SET_COMPUTE_UNIT_PRICE && data.length === 9) price = view.getBigUint64(1, true);
  }
  const asked = limit ?? others * DEFAULT_UNITS_PER_INSTRUCTION;
  const units = asked < MAX_UNITS ? asked : MAX_UNITS;
  return (price * units + MICRO_LAMPORTS_PER_LAMPORT - 1n) / MICRO_LAMPORTS_PER_LAMPORT;
}
