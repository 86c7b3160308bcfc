import { describe, expect, it } from "vitest";
import { AccountQueue } from "../../../src/postgres/accounts/account-queue.ts";

/** A task that ends on request. */
function work() {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let started = false;
  const begin = () => {
    started = true;
    return promise;
  };
  return { begin, isStarted: () => started, end: resolve, fail: reject };
}

const soon = () => new Promise((resolve) => setImmediate(resolve));

describe("account queue", () => {
  it("runs the tasks of an account one at a time, in order of arrival", async () => {
    const turns = new AccountQueue();
    const [first, second, other] = [work(), work(), work()];
    const answers = [turns.run("a", first.begin), turns.run("a", second.begin), turns.run("b", other.begin)];
    await soon();
    expect([first.isStarted(), second.isStarted(), other.isStarted()]).toEqual([true, false, true]);
    first.end("first");
    await soon();
    expect(second.isStarted()).toBe(true);
    second.end("second");
    other.end("other");
    expect(await Promise.all(answers)).toEqual(["first", "second", "other"]);
  });

  it("continues after a failed task and reports the error to its caller only", async () => {
    const turns = new AccountQueue();
    const [bad, good] = [work(), work()];
    const failed = turns.run("a", bad.begin).catch((error: unknown) => error);
    const answer = turns.run("a", good.begin);
    bad.fail(new Error("no"));
    good.end("yes");
    expect(await failed).toMatchObject({ message: "no" });
    expect(await answer).toBe("yes");
  });

  it("rejects tasks of an account with a full queue, and of no other account", async () => {
    const turns = new AccountQueue();
    const { begin, end } = work();
    const waiting = Array.from({ length: 20 }, () => turns.run("a", begin));
    await expect(turns.run("a", begin)).rejects.toMatchObject({ code: "UNAVAILABLE" });
    expect(await turns.run("b", async () => "other")).toBe("other");
    end("all");
    await Promise.all(waiting);
    expect(await turns.run("a", async () => "again")).toBe("again");
  });
});
