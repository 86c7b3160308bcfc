import { expect, it } from "vitest";
import { compareSeals, type LoggedSeal } from "../../../src/app/operations/logged-seals.ts";

const sealOf = (number: number, hash = `hash ${number}`) => ({
  number,
  upTo: `2026-01-0${number}`,
  hash,
  at: `2026-02-0${number}T00:00:00.000Z`,
});
const ALL = [1, 2, 3, 4, 5].map((number) => sealOf(number));
const problemOf = (logged: readonly LoggedSeal[], stored = ALL) => compareSeals(logged, stored).problems[0];

it("accepts seals that are those of the log, of which the log may lack some", () => {
  expect(compareSeals([ALL[3]!, ALL[1]!], ALL)).toEqual({ checked: 2, problems: [] });
});

it("names the first seal that differs, its time span and the backup to compare with", () => {
  const stored = [...ALL.slice(0, 2), sealOf(3, "a"), sealOf(4, "b"), sealOf(5, "c")];
  expect(problemOf(ALL, stored)).toBe(
    "seal 3, of entries from 2026-01-02 to 2026-01-03, has another hash in the database: an entry was " +
      "changed, or removed, and its seal made again; compare these entries with a backup of before " +
      "2026-02-03T00:00:00.000Z",
  );
  // A span begins where the log last had a seal.
  expect(problemOf([ALL[0]!, ALL[4]!], stored)).toMatch(/^seal 5, of entries from 2026-01-01 to 2026-01-05,/);
  expect(problemOf([ALL[4]!], stored)).toMatch(/^seal 5, of entries from the first one to 2026-01-05,/);
});

it("names a removed last seal", () => {
  expect(problemOf(ALL, ALL.slice(0, 4))).toMatch(/^seal 5, .* is not in the database: it was removed, /);
});

it("expects the first line of a number, not that of a seal that was made again", () => {
  const again = { ...sealOf(5, "again"), at: "2026-03-01T00:00:00.000Z" };
  expect(problemOf([again, ...ALL], [...ALL.slice(0, 4), again])).toMatch(/^seal 5, .* another hash/);
});

it("expects no seal that a restore of the database lost", () => {
  const restore = { at: "2026-02-06T00:00:00.000Z", lastSeal: 3 };
  const again = { ...sealOf(4, "again"), at: "2026-02-07T00:00:00.000Z" };
  expect(problemOf([...ALL, restore], ALL.slice(0, 3))).toBeUndefined();
  expect(problemOf([...ALL, again, restore], [...ALL.slice(0, 3), again])).toBeUndefined();
  expect(problemOf([...ALL, restore], ALL.slice(0, 2))).toMatch(/^seal 3, /);
});
