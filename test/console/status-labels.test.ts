import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import { EntryKind } from "#gen/toolgate/console/v1/balance_service_pb.ts";
import { PaidBy, ReceiptStatus } from "#gen/toolgate/v1/receipt_pb.ts";
import { RunStatus } from "#gen/toolgate/v1/run_pb.ts";
import { ERRORS } from "../../src/domain/errors.ts";
import { durationWord } from "../../src/console/pages/run/duration.ts";
import { errorMeaning } from "../../src/console/pages/run/error-meaning.ts";
import { entryWord, paidByWord, receiptWord, runWord } from "../../src/console/pages/status-labels.ts";

/** The values of an enumeration that can be sent. */
const sent = <Value extends number>(values: Record<string, Value>) =>
  Object.values(values).filter((value) => value !== 0);

describe("a status of the services", () => {
  it("has a word of its own, each of them", () => {
    for (const words of [
      sent<ReceiptStatus>(ReceiptStatus).map((status) => receiptWord(status).word),
      sent<RunStatus>(RunStatus).map((status) => runWord(status).word),
      sent<PaidBy>(PaidBy).map(paidByWord),
      sent<EntryKind>(EntryKind).map(entryWord),
    ]) {
      expect(words).not.toContain("unknown");
      expect(words).not.toContain("Entry");
      expect(new Set(words).size).toBe(words.length);
    }
  });

  it("is only shown as good where it is", () => {
    expect(receiptWord(ReceiptStatus.REVERSED).kind).toBe("bad");
    expect(receiptWord(ReceiptStatus.REFUNDED).kind).toBe("off");
    expect(runWord(RunStatus.FAILED).kind).toBe("bad");
    expect(runWord(RunStatus.ACTIVE).kind).toBe("wait");
    expect(receiptWord(99 as never).kind).toBe("off");
    expect(runWord(99 as never).kind).toBe("off");
  });
});

describe("the error of a run", () => {
  it("is explained, whatever its code", () => {
    for (const code of [...Object.keys(ERRORS), "A_CODE_OF_TOMORROW"])
      expect(errorMeaning(code)).toMatch(/\.$/);
    expect(errorMeaning("TOOL_FAILED")).not.toBe(errorMeaning("A_CODE_OF_TOMORROW"));
  });
});

describe("how long a run took", () => {
  it("is the time from its start to its end", () => {
    const startedAt = timestampFromMs(1_000);
    expect(durationWord({ startedAt, endedAt: timestampFromMs(1_820) })).toBe("820 ms");
    expect(durationWord({ startedAt, endedAt: timestampFromMs(3_400) })).toBe("2.4 s");
    expect(durationWord({ startedAt })).toBe("—");
    expect(durationWord({ endedAt: startedAt })).toBe("—");
  });
});
