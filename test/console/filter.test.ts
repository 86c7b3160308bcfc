import { timestampDate } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import {
  dateRangeError,
  isFiltered,
  readFilter,
  timestampRange,
  statementHref,
  writeFilter,
} from "../../src/console/pages/activity/filter.ts";

const NONE = { tab: "receipts", status: "", tool: "", key: "", from: "", to: "" } as const;

describe("activity filter in the URL", () => {
  it.each([
    ["", NONE],
    ["?tab=runs&status=failed", { ...NONE, tab: "runs", status: "failed" }],
    [
      "?status=reversed&tool=inference_chat&key=key_1",
      { ...NONE, status: "reversed", tool: "inference_chat", key: "key_1" },
    ],
    [
      "?tab=statement&from=2026-02-28&to=2026-03-01",
      { ...NONE, tab: "statement", from: "2026-02-28", to: "2026-03-01" },
    ],
    ["?tool=caf%C3%A9+%26+bar", { ...NONE, tool: "café & bar" }],
  ])("reads and writes %j", (search, filter) => {
    expect(readFilter(search)).toEqual(filter);
    expect(readFilter(writeFilter(readFilter(search)))).toEqual(filter);
  });

  it.each([
    "?tab=nonsense",
    "?status=completed",
    "?from=yesterday",
    "?from=2026-02-30",
    "?to=2026-13-01",
    "?from=2026-2-3",
  ])("ignores the invalid %j", (search) => {
    expect(readFilter(search)).toEqual(NONE);
    expect(isFiltered(readFilter(search))).toBe(false);
  });

  it("accepts only statuses of the current tab", () => {
    expect(readFilter("?tab=runs&status=refunded").status).toBe("");
    expect(readFilter("?tab=statement&status=final").status).toBe("");
  });

  it("writes no query string without a filter", () => {
    expect(writeFilter(NONE)).toBe("");
    expect(writeFilter({ ...NONE, tab: "runs" })).toBe("?tab=runs");
    expect(isFiltered({ ...NONE, tab: "runs" })).toBe(false);
    expect(isFiltered({ ...NONE, key: "key_1" })).toBe(true);
  });
});

describe("filter days", () => {
  it("includes the last day in UTC", () => {
    const { from, to } = timestampRange({ from: "2026-02-28", to: "2026-02-28" });
    expect(from && timestampDate(from).toISOString()).toBe("2026-02-28T00:00:00.000Z");
    expect(to && timestampDate(to).toISOString()).toBe("2026-03-01T00:00:00.000Z");
    expect(timestampRange({ from: "", to: "" })).toEqual({});
  });

  it("reports an error only when the first day is after the last", () => {
    expect(dateRangeError({ from: "2026-03-02", to: "2026-03-01" })).toMatch(/after/);
    expect(dateRangeError({ from: "2026-03-01", to: "2026-03-01" })).toBeUndefined();
    expect(dateRangeError({ from: "2026-03-02", to: "" })).toBeUndefined();
  });

  it("exports up to the day after the last, exclusive", () => {
    expect(statementHref({ from: "", to: "" })).toBe("/console/export/statement.csv");
    expect(statementHref({ from: "2026-01-01", to: "2026-01-31" })).toBe(
      "/console/export/statement.csv?from=2026-01-01&to=2026-02-01",
    );
  });
});
