import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import { EntryKind } from "#gen/toolgate/console/v1/balance_service_pb.ts";
import { CallOutcome } from "#gen/toolgate/console/v1/history_service_pb.ts";
import { PaidBy, ReceiptStatus } from "#gen/toolgate/v1/receipt_pb.ts";
import { ERRORS } from "../../src/domain/core/errors.ts";
import {
  durationLabel,
  entryKindLabel,
  outcomeLabel,
  paymentMethodLabel,
  receiptStatusLabel,
  errorMeaning,
} from "../../src/console/pages/status-labels.ts";

/** Returns the enum values except UNSPECIFIED. */
const sent = <Value extends number>(values: Record<string, Value>) =>
  Object.values(values).filter((value) => value !== 0);

describe("status labels", () => {
  it("has a distinct label for every status", () => {
    for (const words of [
      sent<ReceiptStatus>(ReceiptStatus).map((status) => receiptStatusLabel(status).text),
      sent<CallOutcome>(CallOutcome).map((outcome) => outcomeLabel(outcome).text),
      sent<PaidBy>(PaidBy).map(paymentMethodLabel),
      sent<EntryKind>(EntryKind).map(entryKindLabel),
    ]) {
      expect(words).not.toContain("Unknown");
      expect(words).not.toContain("Entry");
      expect(new Set(words).size).toBe(words.length);
    }
  });

  it("marks only successful statuses as ok", () => {
    expect(receiptStatusLabel(ReceiptStatus.REVERSED).kind).toBe("bad");
    expect(receiptStatusLabel(ReceiptStatus.REFUNDED).kind).toBe("off");
    for (const outcome of [CallOutcome.FAILED, CallOutcome.TIMEOUT, CallOutcome.LIMIT])
      expect(outcomeLabel(outcome).kind).toBe("bad");
    expect(outcomeLabel(CallOutcome.SUCCEEDED).kind).toBe("ok");
    expect(outcomeLabel(CallOutcome.UNSPECIFIED)).toEqual({ text: "Running", kind: "wait" });
    expect(outcomeLabel(undefined).kind).toBe("off");
    expect(receiptStatusLabel(99 as never).kind).toBe("off");
  });
});

describe("errorMeaning", () => {
  it("explains every error code", () => {
    for (const code of [...Object.keys(ERRORS), "A_CODE_OF_TOMORROW"])
      expect(errorMeaning(code)).toMatch(/\.$/);
    expect(errorMeaning("TOOL_FAILED")).not.toBe(errorMeaning("A_CODE_OF_TOMORROW"));
  });
});

describe("durationLabel", () => {
  it("formats the time from start to end", () => {
    const startedAt = timestampFromMs(1_000);
    expect(durationLabel({ startedAt, endedAt: timestampFromMs(1_820) })).toBe("820 ms");
    expect(durationLabel({ startedAt, endedAt: timestampFromMs(3_400) })).toBe("2.4 s");
    expect(durationLabel({ startedAt })).toBe("—");
    expect(durationLabel({ endedAt: startedAt })).toBe("—");
  });
});
