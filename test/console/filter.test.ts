import { timestampDate } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import { CallOutcome } from "#gen/toolgate/console/v1/history_service_pb.ts";
import { RunStatus } from "#gen/toolgate/v1/run_pb.ts";
import {
  dateRangeError,
  isFiltered,
  readFilter,
  timestampRange,
  exportHref,
  runCondition,
  writeFilter,
} from "../../src/console/pages/activity/filter.ts";

const NONE = {
  tab: "receipts",
  status: "",
  outcome: "",
  tool: "",
  key: "",
  model: "",
  from: "",
  to: "",
} as const;

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
    ["?status=final&outcome=limit", { ...NONE, status: "final", outcome: "limit" }],
    ["?tab=runs&status=running", { ...NONE, tab: "runs", status: "running" }],
    ["?tool=caf%C3%A9+%26+bar", { ...NONE, tool: "café & bar" }],
  ])("reads and writes %j", (search, filter) => {
    expect(readFilter(search)).toEqual(filter);
    expect(readFilter(writeFilter(readFilter(search)))).toEqual(filter);
  });

  it.each([
    "?tab=nonsense",
    "?status=completed",
    "?outcome=running",
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
    expect(readFilter("?tab=runs&outcome=failed").outcome).toBe("");
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
    expect(exportHref({ ...NONE, tab: "statement" })).toBe("/console/export/statement.csv");
    expect(exportHref({ ...NONE, tab: "statement", from: "2026-01-01", to: "2026-01-31" })).toBe(
      "/console/export/statement.csv?from=2026-01-01&to=2026-02-01",
    );
  });

  it("exports the list of the tab with its filter", () => {
    const filter = { ...NONE, tool: "a b", key: "key_1" };
    expect(exportHref({ ...filter, status: "refunded", outcome: "limit" })).toBe(
      "/console/export/receipts.csv?status=refunded&outcome=limit&tool=a+b&key_id=key_1",
    );
    expect(exportHref({ ...filter, tab: "runs", status: "failed" })).toBe(
      "/console/export/runs.csv?outcome=failed&tool=a+b&key_id=key_1",
    );
    expect(exportHref({ ...NONE, tab: "runs", status: "running" })).toBe(
      "/console/export/runs.csv?status=active",
    );
  });

  it("finds failed runs by their outcome, and running ones by their status", () => {
    expect(runCondition("failed")).toEqual({ status: RunStatus.UNSPECIFIED, outcome: CallOutcome.FAILED });
    expect(runCondition("running")).toEqual({ status: RunStatus.ACTIVE, outcome: CallOutcome.UNSPECIFIED });
    expect(runCondition("")).toEqual({ status: RunStatus.UNSPECIFIED, outcome: CallOutcome.UNSPECIFIED });
  });
});
