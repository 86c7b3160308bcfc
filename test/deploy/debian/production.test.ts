import { readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startLocalChain, type LocalChain } from "../../../src/localchain/index.ts";
import { ROOT } from "../../tooling/command.ts";
import { copyCheckout } from "./checkout.ts";
import { HOST, LIMIT_MS, Machine, missing } from "./machine.ts";

const PAGE = "docs/tutorials/production.md";
const SKIPPED = await missing();
const TITLE = `${PAGE} on a bare Debian${SKIPPED === undefined ? "" : ` (${SKIPPED})`}`;
/** What the reader types for the page's `<placeholders>`. */
const values: Record<string, string> = {
  repository: "/srv/repository",
  "public-url": "https://gateway.example",
};

/** Output of the blocks of a heading. */
const PRINTED: Readonly<Record<string, RegExp>> = { "Buy a call": /"receipt":\{"receipt_id":"rcpt_/ };

interface Block {
  readonly number: number;
  readonly heading: string;
  readonly commands: string;
}

/** The `sh` blocks of the page, in its order. */
function blocks(page: string): Block[] {
  const all = page.split(/^## /m).flatMap((section) => {
    const heading = section.split("\n", 1)[0] ?? "";
    return [...section.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, commands = ""]) => ({
      heading,
      commands,
    }));
  });
  return all.map((block, index) => ({ number: index + 1, ...block }));
}

const filled = (commands: string) =>
  commands.replaceAll(/<([a-z-]+)>/g, (placeholder, name: string) => values[name] ?? placeholder);

/** Requests while instances restart: one after the other until they are stopped. */
const START_REQUESTS =
  "touch /run/requests; while [ -e /run/requests ]; do " +
  "curl --silent --output /dev/null --write-out '%{http_code}\\n' http://127.0.0.1:8080/health || true; " +
  "done >/run/answers & REQUESTS=$!";
const STOP_REQUESTS = "rm /run/requests; wait $REQUESTS; sort /run/answers | uniq --count";

describe.skipIf(SKIPPED !== undefined)(TITLE, { timeout: LIMIT_MS }, () => {
  let machine: Machine;
  let chain: LocalChain;

  beforeAll(async () => {
    chain = await startLocalChain({ port: 0 });
    values["rpc-urls"] = chain.url.replace("127.0.0.1", HOST);
    values["wallet"] = chain.controls.createWallet({ microUsd: 0n }).publicKey.toBase58();
    machine = new Machine();
    await machine.build();
  }, LIMIT_MS);
  afterAll(async () => {
    await machine?.close();
    await chain?.close();
  }, LIMIT_MS);

  it("boots with a copy of the project", async () => {
    copyCheckout(path.join(machine.root, "srv/repository"));
    await machine.boot();
    expect(await machine.paste("systemctl --failed --no-legend --plain")).toBe("");
  });

  it.each(blocks(readFileSync(path.join(ROOT, PAGE), "utf8")))(
    "runs block $number: $heading",
    async ({ heading, commands }) => {
      const restarts = heading.startsWith("Restart");
      if (restarts) await machine.paste(START_REQUESTS);
      const output = await machine.paste(filled(commands));
      const requests = restarts ? await machine.paste(STOP_REQUESTS) : "1 200";
      expect(requests).toMatch(/^ *\d+ 200\s*$/);
      expect(output).toMatch(PRINTED[heading] ?? "");
    },
  );

  it("ends with two healthy instances without rights, a proven sandbox and a clean ledger", async () => {
    expect(await machine.paste("systemctl --failed --no-legend --plain")).toBe("");
    for (const [name, port] of [
      ["a", 8081],
      ["b", 8082],
    ]) {
      const main = `$(systemctl show --value --property=MainPID toolgate@${name})`;
      expect(await machine.paste(`stat --format=%U /proc/${main}`)).toBe("toolgate\n");
      const checks = await machine.paste(`curl --fail --silent 'http://127.0.0.1:${port}/readyz?verbose'`);
      expect(JSON.parse(checks)).toMatchObject({ checks: { database: "ok", sandbox: "passed" } });
    }
    await machine.paste("curl --fail --silent --show-error http://127.0.0.1:8080/console/");
    // It exits with 1 on any violation, which ends the shell.
    expect(await machine.paste("npm run -s toolgate -- audit --json")).toContain('"invariant":"balances"');
  });
});
