import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  pluralize,
  formatCount,
  formatRelativeTime,
  formatDuration,
  formatSignedUsd,
  formatUsd,
  formatUtc,
  formatUtcDay,
  parseUsd,
  formatPlainUsd,
} from "../../src/console/format.ts";

describe("amounts", () => {
  it("parses every formatted amount back to the same value", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 17n }), (microUsd) => {
        expect(parseUsd(formatUsd(microUsd))).toBe(microUsd);
        expect(parseUsd(formatPlainUsd(microUsd))).toBe(microUsd);
      }),
    );
  });

  it("formats signed amounts", () => {
    expect([5n, 0n, -5n].map(formatSignedUsd)).toEqual(["+$0.000005", "$0.00", "-$0.000005"]);
  });

  it.each(["", " ", "abc", "1.2345678", "-1", "1e3", ".", "0x10", "1.2.3", "1,2", "12,34.5", "Infinity"])(
    "rejects the amount %j",
    (text) => {
      expect(parseUsd(text)).toBeUndefined();
    },
  );

  it.each([
    ["1", 1_000_000n],
    [" $ 2.5 ", 2_500_000n],
    ["0.", 0n],
    ["1,000", 1_000_000_000n],
  ])("parses the amount %j", (text, microUsd) => {
    expect(parseUsd(text)).toBe(microUsd);
  });
});

describe("counts and times", () => {
  it("groups thousands and pluralizes nouns", () => {
    expect([formatCount(0), formatCount(999n), formatCount(1_234_567)]).toEqual(["0", "999", "1,234,567"]);
    expect([pluralize(1n, "call"), pluralize(2, "call"), pluralize(0, "entry", "entries")]).toEqual([
      "1 call",
      "2 calls",
      "0 entries",
    ]);
  });

  it("formats times in UTC", () => {
    const late = new Date("2026-03-01T23:59:59.999Z");
    expect([formatUtc(late), formatUtcDay(late)]).toEqual(["2026-03-01 23:59:59", "2026-03-01"]);
  });

  it.each([
    [-3, "just now"],
    [-45, "45 seconds ago"],
    [-60, "1 minute ago"],
    [-3_599, "59 minutes ago"],
    [-7_200, "2 hours ago"],
    [-86_400 * 3, "3 days ago"],
    [3_569, "in 59 minutes"],
    [3_599, "in 1 hour"],
    [86_400 * 7 - 5, "in 7 days"],
    [-86_400 * 61, "2025-12-30"],
  ])("formats %s seconds from now as %s", (seconds, text) => {
    const now = new Date("2026-03-01T12:00:00Z");
    expect(formatRelativeTime(new Date(now.getTime() + seconds * 1_000), now)).toBe(text);
  });

  it("formats durations in a fitting unit", () => {
    expect([8.4, 820, 2_420, 200_000, 7_260_000].map(formatDuration)).toEqual([
      "8 ms",
      "820 ms",
      "2.4 s",
      "3 min 20 s",
      "2 h 1 min",
    ]);
  });
});
