import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm, stat, utimes, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  BudgetExceededError,
  memoryStore,
  PaymentStoreError,
  webStorageStore,
} from "../../src/client/index.ts";
import { Budget } from "../../src/client/budget.ts";
import { fileStore } from "../../src/client/node/index.ts";

let root: string;
beforeAll(async () => {
  root = await mkdtemp(path.join(os.tmpdir(), "toolgate-stores-"));
});
afterAll(() => rm(root, { recursive: true, force: true }));

/** The browsers' implementation. */
function storage() {
  const entries = new Map<string, string>();
  return {
    get length() {
      return entries.size;
    },
    key: (index: number) => [...entries.keys()][index] ?? null,
    getItem: (key: string) => entries.get(key) ?? null,
    setItem: (key: string, value: string) => void entries.set(key, value),
    removeItem: (key: string) => void entries.delete(key),
  };
}

const STORES = {
  memory: () => memoryStore(),
  "web storage": () => webStorageStore(storage()),
  file: () => fileStore(path.join(root, crypto.randomUUID())),
};

describe.each(Object.entries(STORES))("a %s store", (_, open) => {
  it("writes, lists and deletes only entries that are unchanged since they were read", async () => {
    const store = open();
    expect(await store.get("payment/1")).toBeUndefined();
    expect(await store.put("payment/1", "one", undefined)).toBe(true);
    expect(await store.put("payment/1", "other", undefined)).toBe(false);
    const one = await store.get("payment/1");
    expect(one?.value).toBe("one");
    expect(await store.put("payment/1", "two", one?.version)).toBe(true);
    expect(await store.put("payment/1", "three", one?.version)).toBe(false);
    expect(await store.delete("payment/1", one?.version ?? "")).toBe(false);
    await store.put("budget/total", "b", undefined);
    expect(await store.list("payment/")).toEqual(["payment/1"]);
    const two = await store.get("payment/1");
    expect(two?.value).toBe("two");
    expect(await store.delete("payment/1", two?.version ?? "")).toBe(true);
    expect(await store.list("payment/")).toEqual([]);
    expect(await store.put("payment/1", "late", two?.version)).toBe(false);
    expect(await store.put("payment/1", "again", undefined)).toBe(true);
  });

  it("lets one of several concurrent writers win", async () => {
    const store = open();
    const wins = await Promise.all([1, 2, 3, 4, 5].map((n) => store.put("key", String(n), undefined)));
    expect(wins.filter(Boolean)).toHaveLength(1);
    expect((await store.get("key"))?.value).toBe(String(wins.indexOf(true) + 1));
  });

  it("keeps a budget that concurrent calls do not exceed", async () => {
    const budget = new Budget(open(), "total", 5n);
    const tries = await Promise.allSettled(
      Array.from({ length: 9 }, (_none, n) => budget.reserve(String(n), 1n)),
    );
    expect(tries.filter(({ status }) => status === "fulfilled")).toHaveLength(5);
    for (const one of tries)
      if (one.status === "rejected") expect(one.reason).toBeInstanceOf(BudgetExceededError);
    const winner = String(tries.findIndex(({ status }) => status === "fulfilled"));
    await budget.reserve(winner, 1n);
    await budget.release(winner);
    await budget.reserve("after", 1n);
    await budget.spend("after");
    await budget.spend("after");
    expect(await budget.used()).toBe(5n);
  });
});

describe("a web storage store", () => {
  it("reports that the storage is full", async () => {
    const full = () => {
      throw new DOMException("full", "QuotaExceededError");
    };
    const store = webStorageStore({ ...storage(), length: 0, setItem: full });
    await expect(store.put("key", "value", undefined)).rejects.toThrow(PaymentStoreError);
  });
});

describe("a file store", () => {
  it("loses no write of concurrent processes", async () => {
    const folder = path.join(root, "shared");
    const [client, node] = ["budget.ts", "node/index.ts"].map((file) =>
      path.join(import.meta.dirname, "../../src/client", file),
    );
    const program = `
      const { Budget } = await import(${JSON.stringify(client)});
      const { fileStore } = await import(${JSON.stringify(node)});
      const budget = new Budget(fileStore(${JSON.stringify(folder)}), "total", 1000n);
      for (let n = 0; n < 8; n += 1) {
        await budget.reserve(process.pid + "-" + n, 1n);
        await budget.spend(process.pid + "-" + n);
      }`;
    const run = async () => {
      const child = spawn(process.execPath, ["--input-type=module", "-e", program], { stdio: "inherit" });
      const [code]: unknown[] = await once(child, "exit");
      return code;
    };
    expect(await Promise.all([run(), run(), run()])).toEqual([0, 0, 0]);
    expect(await new Budget(fileStore(folder), "total", 1000n).used()).toBe(24n);
  });

  it("is readable by its owner only, and reports unreadable entries", async () => {
    const folder = path.join(root, "private");
    const store = fileStore(folder);
    await store.put("key", "value", undefined);
    const [file = ""] = await readdir(folder);
    expect((await stat(folder)).mode & 0o077).toBe(0);
    expect((await stat(path.join(folder, file))).mode & 0o077).toBe(0);
    await writeFile(path.join(folder, file), "{");
    await expect(store.get("key")).rejects.toThrow(PaymentStoreError);
  });

  it("reports a folder that cannot be opened, and opens it once it can", async () => {
    const folder = path.join(root, "blocked");
    await writeFile(folder, "");
    const store = fileStore(folder);
    await expect(store.put("key", "value", undefined)).rejects.toThrow(`${folder}: cannot be opened`);
    await expect(store.list("")).rejects.toThrow(PaymentStoreError);
    await rm(folder);
    expect(await store.put("key", "value", undefined)).toBe(true);
  });

  it("keeps nothing of finished payments", async () => {
    const folder = path.join(root, "swept");
    const store = fileStore(folder);
    await store.put("payment/over", "signed", undefined);
    await store.put("payment/left", "signed", undefined);
    const over = await store.get("payment/over");
    await store.delete("payment/over", over?.version ?? "");
    const left = await store.get("payment/left");
    await store.put("payment/left", "refused", left?.version);
    await writeFile(path.join(folder, "new-of-a-killed-process"), "");
    const later = new Date(Date.now() - 2 * 3_600_000);
    for (const file of await readdir(folder)) await utimes(path.join(folder, file), later, later);
    // Another process, after an hour.
    const heir = fileStore(folder);
    await heir.put("budget/total", "b", undefined);
    expect(await readdir(folder)).toHaveLength(2);
    expect((await heir.get("payment/left"))?.value).toBe("refused");
    expect(await heir.get("payment/over")).toBeUndefined();
    expect(await heir.put("payment/over", "again", undefined)).toBe(true);
  });
});
