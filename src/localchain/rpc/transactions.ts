import type { ChainView } from "../chain-view.ts";
import { type Commitment, MAX_RECENT_BLOCKHASHES } from "../slots.ts";
import type { Json } from "../json.ts";
import { statusJson, TRANSACTION_ENCODINGS, transactionJson } from "../transaction-json.ts";
import type { TransactionRecord } from "../wire-transaction.ts";
import {
  invalidParams,
  RpcError,
  UNSUPPORTED_TRANSACTION_VERSION,
  Options,
  parseSignature,
  withContext,
} from "./params.ts";
import type { Params, MethodTable } from "./params.ts";
import { MEMO_PROGRAM, MEMO_V1_PROGRAM } from "../accounts.ts";

const MAX_STATUSES = 256;
const MAX_SIGNATURES = 1_000;

export const transactionMethods: MethodTable = {
  getTransaction(view, params) {
    const signature = params.signature(0);
    const options = transactionOptions(params);
    const encoding = options.text("encoding") ?? "json";
    const known = TRANSACTION_ENCODINGS.find((each) => each === encoding);
    if (known === undefined && encoding !== "binary") {
      throw invalidParams(`Invalid params: unknown variant \`${encoding}\`, expected an encoding.`);
    }
    const record = view.transaction(signature, historyCommitment(options));
    if (record === undefined) return null;
    const maximum = options.count("maxSupportedTransactionVersion");
    requireVersion(record, maximum);
    return transactionJson(record, known ?? "binary", maximum !== undefined);
  },

  getSignatureStatuses(view, params) {
    const signatures = params.texts(0);
    if (signatures.length > MAX_STATUSES)
      throw invalidParams(`Too many inputs provided; max ${MAX_STATUSES}`);
    const search = params.options(1).flag("searchTransactionHistory") === true;
    const statuses = signatures.map((each) => {
      const record = view.transaction(parseSignature(each), "processed");
      if (record === undefined) return null;
      const recent = record.slot > view.slot - MAX_RECENT_BLOCKHASHES;
      return recent || search ? signatureStatus(view, record) : null;
    });
    return withContext(view, "processed", statuses);
  },

  getSignaturesForAddress(view, params) {
    const address = params.address(0);
    const options = params.options(1);
    const commitment = historyCommitment(options);
    options.requireContextSlot(view, commitment);
    const limit = options.count("limit") ?? MAX_SIGNATURES;
    if (limit < 1 || limit > MAX_SIGNATURES) throw invalidParams(`Invalid limit; max ${MAX_SIGNATURES}`);
    const newestFirst = view.chain.history.touching(address).toReversed();
    return between(newestFirst, optionalSignature(options, "before"), optionalSignature(options, "until"))
      .filter((record) => view.reached(record, commitment))
      .slice(0, limit)
      .map((record) => ({
        blockTime: record.blockTime,
        confirmationStatus: view.commitmentOf(record) ?? null,
        err: record.err,
        memo: memoSummary(record),
        signature: record.transaction.signature,
        slot: record.slot,
      }));
  },
};

/** A transaction's status as `getSignatureStatuses` has it. */
function signatureStatus(view: ChainView, record: TransactionRecord): Json {
  return {
    confirmationStatus: view.commitmentOf(record) ?? null,
    confirmations: view.confirmations(record),
    err: record.err,
    slot: record.slot,
    status: statusJson(record),
  };
}

/** Without a maximum, a client understands legacy transactions only. */
function requireVersion(record: TransactionRecord, maximum: number | undefined): void {
  const { version } = record.transaction.message;
  if (version === "legacy" || (maximum !== undefined && version <= maximum)) return;
  throw new RpcError(
    UNSUPPORTED_TRANSACTION_VERSION,
    `Transaction version (${version}) is not supported by the requesting client. ` +
      "Please try the request again with the following configuration parameter: " +
      `"maxSupportedTransactionVersion": ${version}`,
  );
}

/** The second parameter may be a bare encoding, an older form that still works. */
function transactionOptions(params: Params): Options {
  const second = params.raw(1);
  return new Options(typeof second === "string" ? { encoding: second } : second);
}

/** The history holds complete blocks only. */
function historyCommitment(options: Options): Commitment {
  const commitment = options.commitment();
  if (commitment === "processed") throw invalidParams("Method does not support commitment below `confirmed`");
  return commitment;
}

function optionalSignature(options: Options, name: string): string | undefined {
  const text = options.text(name);
  return text === undefined ? undefined : parseSignature(text);
}

/**
 * The part of a newest-first list after `before` and ahead of `until`; an unknown `before` leaves nothing.
 */
function between(
  records: readonly TransactionRecord[],
  before: string | undefined,
  until: string | undefined,
): readonly TransactionRecord[] {
  const position = (signature: string): number =>
    records.findIndex((record) => record.transaction.signature === signature);
  const from = before === undefined ? 0 : position(before) + 1;
  if (before !== undefined && from === 0) return [];
  const end = until === undefined ? -1 : position(until);
  return records.slice(from, end === -1 ? undefined : end);
}

/**
 * The `memo` member of `getSignaturesForAddress`: every top-level memo with its length in bytes, joined by
 * `; `. Calls between programs do not count, just as with a validator.
 */
function memoSummary(record: TransactionRecord): string | null {
  const memos = record.transaction.instructions.flatMap(({ programIndex, data }) => {
    const program = record.keys.all[programIndex];
    return program === MEMO_PROGRAM || program === MEMO_V1_PROGRAM
      ? [`[${data.length}] ${new TextDecoder().decode(data)}`]
      : [];
  });
  return memos.length === 0 ? null : memos.join("; ");
}
