import type { RequestRecord } from "../../../app/operations/request-record.ts";
import type { Receipt } from "../../../domain/calls/receipt.ts";
import type { JsonObject } from "../../../domain/core/json.ts";

export function noteResult(
  record: RequestRecord | undefined,
  result: JsonObject,
  receipt: Receipt | undefined,
): void {
  if (!record) return;
  record.result = result;
  record.receiptId = receipt?.receiptId;
  // A repeated answer was charged by the run of its first request.
  if (receipt && record.runId !== undefined) record.charged = receipt.debited;
}
