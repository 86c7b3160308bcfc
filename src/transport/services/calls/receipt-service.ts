import { ReceiptService } from "#gen/toolgate/v1/receipt_service_pb.ts";
import type { Receipts, Runs } from "../../../app/calls/history.ts";
import { found, pageQuery } from "../page.ts";
import { RECEIPT_STATUS, receiptMessage } from "./receipt-message.ts";
import { bind, type ServiceBinding } from "../../endpoint.ts";
import { RunService } from "#gen/toolgate/v1/run_service_pb.ts";
import { RUN_STATUS, runMessage } from "./run-message.ts";

const BILLING = { key: "key-or-sign-in", scope: "billing:read" } as const;

/** The caller's receipts (specification 4.5). */
export function receiptService(receipts: Receipts): ServiceBinding {
  return bind(ReceiptService, BILLING, {
    async listReceipts(request, { caller, client }) {
      await client?.signIn?.read("/receipts");
      const { items, nextCursor } = await receipts.list(pageQuery(caller.accountId, request, RECEIPT_STATUS));
      return { items: items.map(receiptMessage), nextCursor, hasMore: nextCursor !== undefined };
    },
    async getReceipt({ id }, { caller, client }) {
      await client?.signIn?.read(`/receipts/${encodeURIComponent(id)}`);
      return { receipt: receiptMessage(found(await receipts.find(caller.accountId, id), "receipt")) };
    },
  });
}

const COMPUTE = { key: "key-or-sign-in", scope: "compute:read" } as const;

/** The caller's runs (specification 4.6). */
export function runService(runs: Runs): ServiceBinding {
  return bind(RunService, COMPUTE, {
    async listRuns(request, { caller, client }) {
      await client?.signIn?.read("/runs");
      const { items, nextCursor } = await runs.list(pageQuery(caller.accountId, request, RUN_STATUS));
      return { items: items.map(runMessage), nextCursor, hasMore: nextCursor !== undefined };
    },
    async getRun({ id }, { caller, client }) {
      await client?.signIn?.read(`/runs/${encodeURIComponent(id)}`);
      return { run: runMessage(found(await runs.find(caller.accountId, id), "run")) };
    },
  });
}
