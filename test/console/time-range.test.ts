import { describe, expect, it } from "vitest";
import { bucketLabel, bucketTitle, usageWindow } from "../../src/console/pages/overview/time-range.ts";

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
    expect(bucketLabel(late, true)).toBe("23:00");
    expect(bucketLabel(midnight, true)).toBe("22 Nov");
    expect(bucketLabel(midnight, false)).toBe("22 Nov");
  });

  it("shows the full interval", () => {
    expect(bucketTitle(late, true)).toBe("21 Nov 2026, 23:00 to 00:00 UTC");
    expect(bucketTitle(midnight, false)).toBe("22 Nov 2026 UTC");
  });
});
