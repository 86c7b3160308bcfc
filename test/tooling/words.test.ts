import { describe, expect, it } from "vitest";

import { bannedWords } from "./words.ts";

describe("the words check", () => {
  it.each([
    ["src/a.ts", "// TODO later"],
    ["test/a.test.ts", "  // FIXME"],
    ["proto/toolgate/v1/a.proto", "// XXX what now"],
    ["test/a.test.ts", 'it.only("is alone", () => {});'],
    ["test/a.test.ts", 'describe.only("is alone", () => {});'],
    ["test/a.test.ts", "  await sleep(50);"],
    ["test/a.test.ts", "await new Promise((resolve) => setTimeout(resolve, 50));"],
    ["test/a.test.ts", "await vi.waitFor(() => expect(sent).toBe(1));"],
    ["test/a.test.ts", "expect(performance.now() - since).toBeLessThan(20_000);"],
    ["test/a.test.ts", "expect((await keys.list(account))[0]?.name).toBe(name);"],
    ["docs/a.md", "run it in /home/someone/toolgate"],
    ["README.md", ["see ", "work", "somewhere"].join("/")],
    ["src/a.ts", 'const root = "/Users/someone";'],
    ["docs/a.md", "as research/chain.md says"],
    ["src/solana/a.ts", "// Tells the caller."],
    ["docs/guides/a.md", "Whoever asks"],
    ["test/a.test.ts", "// Nobody asks."],
    ["deploy/a.yaml", "# The sightings"],
  ])("refuses in %s: %s", (file, line) => {
    expect(bannedWords(file, `fine\n${line}\n`)).toEqual([expect.stringMatching(`^${file}:2: `)]);
  });

  it.each([
    ["docs/a.md", "The TODO list of an agent"],
    ["src/a.ts", "const paths = { home: `${base}/home/index.html` };"],
    ["src/a.ts", 'import { x } from "../work/queue.ts";'],
    ["src/a.ts", "// RUN_XXX-like names"],
    ["src/a.ts", "selection.only(first)"],
    ["test/a.test.ts", "const slow = query(url, `select pg_sleep(60)`);"],
    ["test/a.test.ts", "expect(performance.now() - since).toBeLessThan(LIMIT_MS);"],
    ["src/gateway/a.ts", "runs as `nobody`, in test/faults/keeper.ts"],
  ])("lets pass in %s: %s", (file, line) => {
    expect(bannedWords(file, line)).toEqual([]);
  });
});
