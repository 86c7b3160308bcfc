import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { loopTime } from "../../../src/loop-time.ts";
import { RETRY, Batcher } from "../../../src/postgres/database/batcher.ts";
import {
  DatabaseUnavailableError,
  DatabaseBusyError,
} from "../../../src/postgres/database/database-errors.ts";

/** A batcher that records its batches and returns each item as its result. */
function recording(
  options: {
    max?: number;
    keys?: (item: string) => string[];
    lanes?: number;
    lane?: (item: string) => string;
    run?: (items: readonly string[]) => Promise<(string | typeof RETRY)[]>;
  } = {},
) {
  const batches: string[][] = [];
  const batcher = new Batcher<string, string>({
    max: options.max ?? 100,
    keys: options.keys ?? (() => []),
    ...(options.lanes !== undefined && { lanes: options.lanes }),
    ...(options.lane !== undefined && { lane: options.lane }),
    run: async (items) => {
      batches.push([...items]);
      await new Promise(setImmediate);
      return options.run ? options.run(items) : [...items];
    },
  });
  return { batches, batcher };
}

/** Waits until the batcher's clock has advanced. */
function passed(ms: number): Promise<void> {
  const end = loopTime() + ms;
  return expect.poll(loopTime).toBeGreaterThanOrEqual(end);
}

const all = (batcher: Batcher<string, string>, items: string) =>
  Promise.all([...items].map((item) => batcher.submit(item)));

describe("batcher", () => {
  it("runs a single item at once, and items that arrive meanwhile together", async () => {
    const { batches, batcher } = recording();
    const first = batcher.submit("a");
    await turn();
    expect(batches).toEqual([["a"]]);
    expect(await Promise.all([first, all(batcher, "bcd")])).toEqual(["a", ["b", "c", "d"]]);
    expect(batches).toEqual([["a"], ["b", "c", "d"]]);
  });

  it("gathers items while event loop turns bring more, up to a limit", async () => {
    const { batches, batcher } = recording();
    const answers: Promise<string>[] = [];
    // Scheduled first, so it runs before the batcher's next turn, like socket events.
    let next = turn();
    for (const item of "abcdefghijkl") {
      answers.push(batcher.submit(item));
      await next;
      next = turn();
    }
    await Promise.all(answers);
    expect(batches[0]?.join("")).toBe("abcdefghi");
    expect(batches.flat().join("")).toBe("abcdefghijkl");
  });

  it("fills batches up to the maximum, in order of arrival", async () => {
    const { batches, batcher } = recording({ max: 2 });
    await all(batcher, "abcde");
    expect(batches).toEqual([["a", "b"], ["c", "d"], ["e"]]);
  });

  it("keeps items that share a key apart and in order, while others pass", async () => {
    const { batches, batcher } = recording({ keys: (item) => [item.toLowerCase()] });
    await all(batcher, "aAbaB");
    expect(batches).toEqual([["a", "b"], ["A", "B"], ["a"]]);
  });

  it("retries the items of a failed batch alone, so that one bad item fails alone", async () => {
    const { batcher } = recording({
      run: (items) => (items.includes("x") ? Promise.reject(new Error("bad")) : Promise.resolve([...items])),
    });
    const settled = await Promise.allSettled(["a", "x", "b"].map((item) => batcher.submit(item)));
    expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  });

  it("retries an item in later batches, up to a limit", async () => {
    let turns = 0;
    const { batcher } = recording({
      run: (items) => Promise.resolve(items.map((item) => (item === "n" || ++turns < 4 ? RETRY : item))),
    });
    expect(await batcher.submit("a")).toBe("a");
    expect(turns).toBe(4);
    await expect(batcher.submit("n")).rejects.toMatchObject({ code: "UNAVAILABLE" });
    expect(await batcher.submit("b")).toBe("b");
  });

  it("rejects all waiting items while the database is unreachable, and serves later ones", async () => {
    let away = true;
    const { batches, batcher } = recording({
      max: 1,
      run: (items) =>
        away ? Promise.reject(new DatabaseUnavailableError(new Error("gone"))) : Promise.resolve([...items]),
    });
    const settled = await Promise.allSettled([..."abc"].map((item) => batcher.submit(item)));
    expect(settled.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
    expect(batches).toEqual([["a"]]);
    away = false;
    expect(await batcher.submit("d")).toBe("d");
  });

  it("rejects items past their deadline while the database is unreachable, and keeps newer ones", async () => {
    let away = true;
    const limits: number[] = [];
    const batcher = new Batcher<string, string>({
      max: 10,
      retryMs: 1_000,
      run: async (items, forMs) => {
        limits.push(forMs);
        if (!away) return [...items];
        await passed(forMs);
        throw new DatabaseUnavailableError(new Error("gone"));
      },
    });
    const early = batcher.submit("a").catch((error: unknown) => error);
    await passed(400);
    const late = batcher.submit("b");
    expect(await early).toBeInstanceOf(DatabaseUnavailableError);
    away = false;
    await expect(late).resolves.toBe("b");
    const [first = 0, second = 0] = limits;
    expect(second).toBeGreaterThan(0);
    expect(second).toBeLessThan(0.8 * first);
  });

  it("retries an item alone after a busy error, and rejects it if the error persists", async () => {
    let busy = 0;
    const { batcher } = recording({
      run: (items) => {
        const blocked = items.includes("x") || (items.includes("y") && ++busy < 3);
        return blocked
          ? Promise.reject(new DatabaseBusyError(new Error("locked")))
          : Promise.resolve([...items]);
      },
    });
    const [a, x, y, b] = await Promise.allSettled([..."axyb"].map((item) => batcher.submit(item)));
    expect([a, y, b].map((settled) => settled?.status)).toEqual(["fulfilled", "fulfilled", "fulfilled"]);
    expect(x).toMatchObject({ status: "rejected", reason: { code: "UNAVAILABLE", retryAfterSeconds: 1 } });
  });

  it("rejects items when 10,000 are waiting", async () => {
    const { batcher } = recording({ max: 20_000 });
    const waiting = Array.from({ length: 10_000 }, () => batcher.submit("a"));
    await expect(batcher.submit("b")).rejects.toMatchObject({ code: "UNAVAILABLE", retryAfterSeconds: 1 });
    await Promise.all(waiting);
    expect(await batcher.submit("b")).toBe("b");
  });
});

describe("batcher with several lanes", () => {
  /** Batches that end on request, in order of their start. */
  function held(lanes: number) {
    const started: string[] = [];
    const ends: PromiseWithResolvers<void>[] = [];
    const { batcher } = recording({
      lanes,
      lane: (item) => item.toLowerCase(),
      run: async (items) => {
        started.push(items.join(""));
        const end = Promise.withResolvers<void>();
        ends.push(end);
        await end.promise;
        return [...items];
      },
    });
    const answered: string[] = [];
    return {
      batcher,
      started: (...batches: string[]) => expect.poll(() => started).toEqual(batches),
      /** Called with each answered item; errors are marked with `!`. */
      answered,
      submit: (items: string) => {
        for (const item of items)
          batcher.submit(item).then(
            (answer) => answered.push(answer),
            () => answered.push(`${item}!`),
          );
      },
      end: (nth: number) => ends[nth]?.resolve(),
      fail: (nth: number, error = new Error("bad")) => ends[nth]?.reject(error),
    };
  }

  it("runs as many batches at once as there are lanes", async () => {
    const { batcher, started, end } = held(2);
    const answers = [batcher.submit("a")];
    await started("a");
    answers.push(batcher.submit("b"));
    await started("a", "b");
    answers.push(batcher.submit("c"), batcher.submit("d"));
    await turn();
    await started("a", "b");
    end(1);
    await started("a", "b", "cd");
    end(0);
    end(2);
    expect(await Promise.all(answers)).toEqual(["a", "b", "c", "d"]);
  });

  it("shares many waiting items among free lanes in order, but not few", async () => {
    const items = (first: number, count: number) =>
      Array.from({ length: count }, (_, n) => String.fromCharCode(first + n)).join("");
    const [many, more, few] = [items(0x4e00, 33), items(0x5000, 40), items(0x6000, 31)];
    const { started, submit, end, answered } = held(2);
    submit(many);
    const shared = [many.slice(0, 17), many.slice(17)];
    await started(...shared);
    end(0);
    await turn();
    submit(more);
    await started(...shared, more);
    end(1);
    end(2);
    await turn();
    submit(few);
    await started(...shared, more, few);
    end(3);
    await expect.poll(() => answered.length).toBe(104);
  });

  it("keeps items of a running lane for that lane while others pass", async () => {
    const { batcher, started, end } = held(2);
    const answers = [batcher.submit("a")];
    await started("a");
    answers.push(batcher.submit("A"), batcher.submit("b"), batcher.submit("a"));
    await started("a", "b");
    end(1);
    await turn();
    await started("a", "b");
    end(0);
    await started("a", "b", "Aa");
    end(2);
    expect(await Promise.all(answers)).toEqual(["a", "A", "b", "a"]);
  });

  it("skips thousands of items that wait for a lane, whatever their keys", async () => {
    const end = Promise.withResolvers<void>();
    const { batches, batcher } = recording({
      lanes: 2,
      lane: (item) => item[0] ?? "",
      keys: (item) => [item[1] ?? ""],
      run: async (items) => {
        if (items.includes("a1")) await end.promise;
        return [...items];
      },
    });
    const first = batcher.submit("a1");
    await expect.poll(() => batches).toEqual([["a1"]]);
    const waiting = batcher.submit("a2");
    expect(await Promise.all([batcher.submit("b2"), batcher.submit("c2")])).toEqual(["b2", "c2"]);
    end.resolve();
    expect(await Promise.all([first, waiting])).toEqual(["a1", "a2"]);
    expect(batches).toEqual([["a1"], ["b2"], ["c2"], ["a2"]]);
  });

  it("keeps items of a lane apart while one of them is retried alone", async () => {
    const { submit, started, end, fail, answered } = held(2);
    submit("ax");
    await started("ax");
    submit("bcdefg");
    await started("ax", "bcdefg");
    submit("AG");
    fail(1);
    await started("ax", "bcdefg", "b", "c", "d", "e");
    // Two lanes retry alone: the one that ends first must not free the other's lane keys.
    fail(0);
    await started("ax", "bcdefg", "b", "c", "d", "e", "a", "x");
    end(6);
    end(7);
    await started("ax", "bcdefg", "b", "c", "d", "e", "a", "x", "A");
    for (const nth of [2, 3, 4, 5]) end(nth);
    await started("ax", "bcdefg", "b", "c", "d", "e", "a", "x", "A", "f", "g");
    expect(answered.toSorted().join("")).toBe("abcdex");
    for (const nth of [8, 9]) end(nth);
    await turn();
    expect(answered).not.toContain("G");
    end(10);
    await started("ax", "bcdefg", "b", "c", "d", "e", "a", "x", "A", "f", "g", "G");
    end(11);
    await expect.poll(() => answered.toSorted().join("")).toBe("AGabcdefgx");
  });

  it("rejects waiting items while the database is unreachable, but not running batches", async () => {
    const { submit, started, end, fail, answered } = held(2);
    submit("ax");
    await started("ax");
    submit("bcdefg");
    await started("ax", "bcdefg");
    submit("AY");
    fail(1);
    await started("ax", "bcdefg", "b", "c", "d", "e");
    fail(0, new DatabaseUnavailableError(new Error("gone")));
    await expect.poll(() => answered.toSorted().join("")).toBe("A!Y!a!f!g!x!");
    for (const nth of [2, 3, 4, 5]) end(nth);
    await expect.poll(() => answered.slice(6).toSorted().join("")).toBe("bcde");
    submit("ab");
    await started("ax", "bcdefg", "b", "c", "d", "e", "ab");
    end(6);
    await expect.poll(() => answered.slice(10).toSorted().join("")).toBe("ab");
  });
});
