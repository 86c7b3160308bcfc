import { describe, expect, it } from "vitest";
import { Lru } from "../../../src/domain/core/lru.ts";

/** @returns a full one with the keys 1 to 4, the oldest first */
function full(): Lru<number, string> {
  const lru = new Lru<number, string>(4);
  for (const key of [1, 2, 3, 4]) lru.set(key, `value ${key}`);
  return lru;
}

const keysOf = (lru: Lru<number, string>) => [1, 2, 3, 4, 5, 6].filter((key) => lru.get(key) !== undefined);

describe("a map with a maximum size", () => {
  it("evicts the entry that was neither read nor written for the longest time", () => {
    const lru = full();
    lru.get(1);
    lru.set(2, "another value");
    lru.set(5, "value 5");
    lru.set(6, "value 6");
    expect(keysOf(lru)).toEqual([1, 2, 5, 6]);
    expect(lru.get(2)).toBe("another value");
  });

  it("has the last value of a key that is written repeatedly, and room for the others", () => {
    const lru = new Lru<number, string>(4);
    for (const value of ["a", "b", "c", "d", "e"]) lru.set(1, value);
    for (const key of [2, 3, 4]) lru.set(key, "");
    expect(keysOf(lru)).toEqual([1, 2, 3, 4]);
    expect(lru.get(1)).toBe("e");
  });

  it("deletes by key, by value, and all", () => {
    const lru = full();
    lru.delete(1);
    lru.deleteWhere((value) => value === "value 3");
    expect(keysOf(lru)).toEqual([2, 4]);
    lru.clear();
    expect(keysOf(lru)).toEqual([]);
  });
});
