import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import {
  CallOutcome,
  type HistoryFilter as FilterMessage,
  HistoryService,
  RecordKind,
} from "#gen/toolgate/console/v1/history_service_pb.ts";
import type {
  CallInfo,
  ChainPayment,
  History,
  HistoryFilter,
  Receipts,
  Runs,
  OwnRecord,
  OwnRecords,
} from "../../../app/calls/history.ts";
import type * as domain from "../../../domain/calls/receipt.ts";
import { invalidField } from "../../../domain/core/errors.ts";
import { accountIdIn, keyIdIn, modelIn, toolIn, dateIn } from "../request-fields.ts";
import { found, pageQuery, statusIn } from "../page.ts";
import { RECEIPT_STATUS, receiptMessage } from "./receipt-message.ts";
import { RUN_STATUS, runMessage } from "./run-message.ts";
import { bind, KEY, type ServiceBinding } from "../../endpoint.ts";

export interface HistoryDeps {
  readonly receipts: Receipts;
  readonly runs: Runs;
  readonly history: History;
  readonly ownRecords: Pick<OwnRecords, "find">;
}

/** Receipts and runs, for the account holder and for operators. */
export function historyService({ receipts, runs, history, ownRecords }: HistoryDeps): ServiceBinding {
  /** Key and outcome of each item, in order. */
  const callsOf = async (accountId: string, items: readonly { runId: string }[]) => {
    const calls = await history.callsOf(
      accountId,
      items.map(({ runId }) => runId),
    );
    return items.map(({ runId }) => infoMessage(calls.get(runId)));
  };
  return bind(HistoryService, KEY, {
    async listReceipts(request, { caller }) {
      const accountId = accountIdIn(request.accountId, caller);
      const query = pageQuery(accountId, request, RECEIPT_STATUS);
      const { items, nextCursor } = await receipts.list({ ...query, filter: filterOf(request.filter) });
      return { items: items.map(receiptMessage), nextCursor, calls: await callsOf(accountId, items) };
    },
    async getReceipt({ receiptId, accountId }, { caller }) {
      const { receipt, run, payment, ...call } = found(
        await history.ofReceipt(accountIdIn(accountId, caller), receiptId),
        "receipt",
      );
      return {
        receipt: receiptMessage(receipt),
        run: runMessage(run),
        ...infoMessage(call),
        payment: payment && paymentOf(payment),
      };
    },
    async listRuns(request, { caller }) {
      const accountId = accountIdIn(request.accountId, caller);
      const query = pageQuery(accountId, request, RUN_STATUS);
      const { items, nextCursor } = await runs.list({ ...query, filter: filterOf(request.filter) });
      return { items: items.map(runMessage), nextCursor, calls: await callsOf(accountId, items) };
    },
    async getRun({ runId, accountId }, { caller }) {
      const readId = accountIdIn(accountId, caller);
      const { run, idempotencyKey, result, ...call } = found(await history.ofRun(readId, runId), "run");
      return {
        run: runMessage(run),
        ...infoMessage(call),
        // Results are the customer's data.
        ...(readId === caller.accountId && { idempotencyKey, result }),
      };
    },
    async findRecords({ id }, { caller }) {
      return { records: (await ownRecords.find(caller.accountId, id)).map(recordMessage) };
    },
  });
}

/** Undefined without any condition: the unfiltered list has a faster query. */
function filterOf(message: FilterMessage | undefined): HistoryFilter | undefined {
  if (!message) return undefined;
  const filter = {
    tool: toolIn("filter.tool", message.tool),
    keyId: keyIdIn("filter.key_id", message.keyId),
    model: modelIn("filter.model", message.model),
    from: dateIn("filter.from", message.from),
    to: dateIn("filter.to", message.to),
    outcome: statusIn("filter.outcome", message.outcome, OUTCOME),
  };
  const { from, to } = filter;
  if (from && to && to <= from) throw invalidField("filter.to", "must be after filter.from");
  return Object.values(filter).every((value) => value === undefined) ? undefined : filter;
}

const OUTCOME: Readonly<Record<domain.CallOutcome, CallOutcome>> = {
  succeeded: CallOutcome.SUCCEEDED,
  failed: CallOutcome.FAILED,
  timeout: CallOutcome.TIMEOUT,
  limit: CallOutcome.LIMIT,
  cancelled: CallOutcome.CANCELLED,
};

const RECORD_KIND: Readonly<Record<OwnRecord["kind"], RecordKind>> = {
  run: RecordKind.RUN,
  receipt: RecordKind.RECEIPT,
  deposit: RecordKind.DEPOSIT,
  key: RecordKind.KEY,
  request: RecordKind.REQUEST,
};

function recordMessage({ kind, id, title, createdAt }: OwnRecord) {
  return { kind: RECORD_KIND[kind], id, title, createdAt: timestampFromDate(createdAt) };
}

function infoMessage(call: Partial<CallInfo> | undefined) {
  return {
    keyId: call?.key?.keyId ?? "",
    keyName: call?.key?.name ?? "",
    outcome: call?.outcome === undefined ? CallOutcome.UNSPECIFIED : OUTCOME[call.outcome],
  };
}

function paymentOf({ amount, blockTime, ...payment }: ChainPayment) {
  return { ...payment, amountUsdcMicrousd: amount, blockTime: timestampFromDate(blockTime) };
}
