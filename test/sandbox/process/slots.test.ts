import { expect, it } from "vitest";
import { Slots } from "../../../src/sandbox/process/slots.ts";

const NEVER = new AbortController().signal;

/** Slots, and the names of what got one, in their order. */
function watched(most: number, mostWaiting = 16) {
  const slots = new Slots(most, mostWaiting);
  const started: string[] = [];
  /** The first letter of a name is its account. */
  const ask = async (name: string, signal = NEVER) => {
    await slots.acquire(name.charAt(0), signal);
    started.push(name);
  };
  return {
    slots,
    started,
    ask: async (names: readonly string[]) => {
      for (const name of names) void ask(name);
      await settled();
    },
    askUntil: ask,
    release: async (account: string) => {
      slots.release(account);
      await settled();
    },
  };
}

/** Resolves after the promises that can resolve without I/O. */
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

it("keeps a slot for an account that holds none", async () => {
  const { started, ask, release } = watched(4);
  await ask(["a1", "a2", "b1", "b2", "a3", "c1"]);
  expect(started).toEqual(["a1", "a2", "b1", "c1"]);
  await release("c");
  expect(started).toHaveLength(4);
  await ask(["d1"]);
  expect(started).toEqual(["a1", "a2", "b1", "c1", "d1"]);
});

it("starts the account that holds the fewest slots first", async () => {
  const { started, ask, release } = watched(5);
  await ask(["a1", "a2", "b1", "c1", "a3", "b2", "d1", "e1"]);
  expect(started.slice(4)).toEqual(["d1"]);
  await release("c");
  expect(started.slice(5)).toEqual(["e1"]);
  await release("d");
  expect(started.slice(6)).toEqual([]);
  await release("e");
  expect(started.slice(6)).toEqual(["b2"]);
});

it("starts accounts that hold equally many in turn, each in its own order", async () => {
  const { started, ask, release } = watched(1);
  await ask(["z1", "a1", "a2", "a3", "b1", "c1"]);
  for (const account of ["z", "a", "b", "c", "a"]) await release(account);
  expect(started).toEqual(["z1", "a1", "b1", "c1", "a2", "a3"]);
});

it("gives its only slot to an account that holds none and to one that waits again", async () => {
  const { started, ask, release } = watched(1);
  await ask(["a1", "a2"]);
  await release("a");
  expect(started).toEqual(["a1", "a2"]);
});

it("refuses what exceeds its queue, and forgets what was aborted", async () => {
  const { slots, started, ask, askUntil, release } = watched(1, 2);
  const aborted = new AbortController();
  await ask(["a1"]);
  const gone = askUntil("b1", aborted.signal).catch((error: unknown) => error);
  await ask(["c1"]);
  expect(slots.acquire("d", NEVER)).toBeUndefined();
  aborted.abort(new Error("left"));
  expect(await gone).toMatchObject({ message: "left" });
  await ask(["d1"]);
  await release("a");
  await release("c");
  expect(started).toEqual(["a1", "c1", "d1"]);
});
