import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import { GetUsageResponseSchema } from "#gen/toolgate/console/v1/balance_service_pb.ts";
import { byMonth } from "../../src/console/pages/overview/by-month.ts";
import {
  bucketLabel,
  bucketTitle,
  stepOf,
  usageWindow,
} from "../../src/console/pages/overview/time-range.ts";

const at = (text: string) => Date.parse(text);

describe("usageWindow", () => {
  it("starts 24 hours with 23 whole hours before the current one", () => {
    expect(usageWindow("24h", at("2026-03-01T14:05:09Z"))).toEqual({
      from: new Date("2026-02-28T15:00:00Z"),
      hourly: true,
    });
  });

  it("starts days at midnight UTC and includes today", () => {
    const now = at("2026-03-01T00:00:00Z");
    expect(usageWindow("7d", now)).toEqual({ from: new Date("2026-02-23T00:00:00Z"), hourly: false });
    expect(usageWindow("30d", now)).toEqual({ from: new Date("2026-01-31T00:00:00Z"), hourly: false });
  });

  it("starts twelve months with the first of the month eleven months ago", () => {
    const from = new Date("2025-04-01T00:00:00Z");
    expect(usageWindow("12m", at("2026-03-31T14:05:09Z"))).toEqual({ from, hourly: false });
    expect(stepOf("12m", { from: "", to: "" }, false)).toBe("month");
    expect(stepOf("custom", { from: "2026-01-01", to: "2026-04-02" }, false)).toBe("day");
    expect(stepOf("custom", { from: "2026-01-01", to: "2026-04-03" }, false)).toBe("month");
  });

  it("stays the same until the next hour", () => {
    const first = usageWindow("24h", at("2026-03-01T14:00:00.000Z"));
    expect(usageWindow("24h", at("2026-03-01T14:59:59.999Z"))).toEqual(first);
    expect(usageWindow("24h", at("2026-03-01T15:00:00.000Z"))).not.toEqual(first);
  });
});

describe("bucket labels", () => {
  const midnight = new Date("2026-11-22T00:00:00Z");
  const late = new Date("2026-11-21T23:00:00Z");

  it("shows the UTC hour, and the day at midnight", () => {
    expect(bucketLabel(late, "hour")).toBe("23:00");
    expect(bucketLabel(midnight, "hour")).toBe("22 Nov");
    expect(bucketLabel(midnight, "day")).toBe("22 Nov");
  });

  it("shows the full interval", () => {
    expect(bucketTitle(late, "hour")).toBe("21 Nov 2026, 23:00 to 00:00 UTC");
    expect(bucketTitle(midnight, "day")).toBe("22 Nov 2026 UTC");
    expect(bucketTitle(midnight, "month")).toBe("Nov 2026 UTC");
  });
});

describe("byMonth", () => {
  it("adds the days of each month", () => {
    const days = ["2026-01-30", "2026-01-31", "2026-02-01"].map((day) => new Date(day));
    const usage = create(GetUsageResponseSchema, {
      buckets: days.map((day) => ({ start: timestampFromDate(day) })),
      series: [{ value: "echo", usage: [1n, 2n, 4n].map((chargedCalls) => ({ chargedCalls })) }],
    });
    const months = byMonth(usage, "UTC");
    expect(months.buckets.map(({ start }) => start)).toEqual(
      [days[0], days[2]].map((day) => timestampFromDate(day!)),
    );
    expect(months.series[0]?.usage.map(({ chargedCalls }) => chargedCalls)).toEqual([3n, 4n]);
  });
});
