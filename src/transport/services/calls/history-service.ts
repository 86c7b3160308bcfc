import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import {
  type HistoryFilter as FilterMessage,
  HistoryService,
} from "#gen/toolgate/console/v1/history_service_pb.ts";
import type { HistoryFilter, Receipts, Runs, ChainPayment, History } from "../../../app/calls/history.ts";
import { invalidField } from "../../../domain/core/errors.ts";
import { keyIdIn } from "../key-id.ts";
import { dateIn } from "../timestamp.ts";
import { found, pageQuery } from "../page.ts";
import { RECEIPT_STATUS, receiptMessage } from "./receipt-message.ts";
import { RUN_STATUS, runMessage } from "./run-message.ts";
import { bind, type ServiceBinding } from "../service-impl.ts";
import { toolIn } from "../tool-name.ts";

export interface HistoryDeps {
  readonly receipts: Receipts;
  readonly runs: Runs;
  readonly history: History;
}

/** The account's receipts and runs, for the account holder. */
export function historyService({
  receipts,
  runs,
  history,
}: HistoryDeps): ServiceBinding<typeof HistoryService> {
  return bind(HistoryService, {
    listReceipts: {
      key: "required",
      async call(request, { caller }) {
        const query = pageQuery(caller.accountId, request, RECEIPT_STATUS);
        const { items, nextCursor } = await receipts.list({ ...query, filter: filterOf(request.filter) });
        return { items: items.map(receiptMessage), nextCursor };
      },
    },
    getReceipt: {
      key: "required",
      async call({ receiptId }, { caller }) {
        const { receipt, run, key, payment } = found(
          await history.ofReceipt(caller.accountId, receiptId),
          "receipt",
        );
        return {
          receipt: receiptMessage(receipt),
          run: runMessage(run),
          keyId: key?.keyId ?? "",
          keyName: key?.name ?? "",
          payment: payment && paymentOf(payment),
        };
      },
    },
    listRuns: {
      key: "required",
      async call(request, { caller }) {
        const query = pageQuery(caller.accountId, request, RUN_STATUS);
        const { items, nextCursor } = await runs.list({ ...query, filter: filterOf(request.filter) });
        return { items: items.map(runMessage), nextCursor };
      },
    },
    getRun: {
      key: "required",
      async call({ runId }, { caller }) {
        const { run, key, idempotencyKey, result } = found(
          await history.ofRun(caller.accountId, runId),
          "run",
        );
        return {
          run: runMessage(run),
          keyId: key?.keyId ?? "",
          keyName: key?.name ?? "",
          idempotencyKey,
          result,
        };
      },
    },
  });
}

/** Undefined without any condition: the unfiltered list has a faster query. */
function filterOf(message: FilterMessage | undefined): HistoryFilter | undefined {
  if (!message) return undefined;
  const filter = {
    tool: toolIn("filter.tool", message.tool),
    keyId: keyIdIn("filter.key_id", message.keyId),
    from: dateIn("filter.from", message.from),
    to: dateIn("filter.to", message.to),
  };
  const { from, to } = filter;
  if (from && to && to <= from) throw invalidField("filter.to", "must be after filter.from");
  return Object.values(filter).every((value) => value === undefined) ? undefined : filter;
}

function paymentOf({ amount, blockTime, ...payment }: ChainPayment) {
  return { ...payment, amountUsdcMicrousd: amount, blockTime: timestampFromDate(blockTime) };
}
