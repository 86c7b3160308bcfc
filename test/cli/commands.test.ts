import { describe, expect, it } from "vitest";
import { memoOf, startWorld, xPayment } from "../support/world.ts";
import { findFlow } from "./find-flow.ts";
import { runToolgate, runToolgateHere } from "./toolgate.ts";
import { query } from "../support/database-server.ts";
import { closing } from "../support/postgres.ts";

/** Runs operator commands on the database of a running gateway. */

const world = closing(await startWorld({ TRUSTED_PROXY_HOPS: "1" }));

const toolgate = (...args: string[]) => toolgateWith({}, ...args);

/** Runs a line of words, and more arguments that may contain spaces. */
const run = (line: string, ...more: string[]) => toolgate(...line.split(" "), ...more);

const toolgateWith = (settings: Record<string, string>, ...args: string[]) =>
  runToolgateHere({ DATABASE_URL: world.database.url, ...settings }, args);

/** In a process of its own, for exit codes and output that pass its end. */
const ownProcess = (...args: string[]) => runToolgate({ DATABASE_URL: world.database.url }, args);

const WALLET = "9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin";

describe("the operator's commands", () => {
  it("creates and funds an account, creates a working key and revokes it", async () => {
    const created = await ownProcess("accounts", "create", "--wallet", WALLET, "--json");
    const accountId = String(created.rows[0]?.["account_id"]);
    expect(accountId).toMatch(/^acct_[0-9a-f]{32}$/);
    expect((await toolgate("accounts", "create", "--wallet", WALLET, "--json")).rows[0]?.["account_id"]).toBe(
      accountId,
    );

    const adjusted = await run(`accounts adjust --account ${accountId} --usdc 5.00 --reason trial --json`);
    expect(adjusted.rows[0]).toMatchObject({ balance_usdc: "5.000000" });
    const less = await run(
      `accounts adjust --account ${accountId} --usdc=-4.5 --json --reason`,
      "trial is over",
    );
    expect(less.rows[0]).toMatchObject({ balance_usdc: "0.500000" });
    const short = await run(`accounts adjust --account ${accountId} --usdc=-4.5 --reason`, "too much");
    expect(short.code).toBe(1);
    const tier = await run(`accounts tier --account ${accountId} --rate 120 --burst 20 --json`);
    expect(tier.rows[0]).toMatchObject({ rate_per_minute: 120, burst: 20, account_rate_per_minute: 1200 });
    const all = await toolgate("accounts", "tier", "--account", accountId, "--account-rate", "300", "--json");
    const named = await toolgate("accounts", "tier", "--account", accountId, "--tier", "default", "--json");
    expect(named.rows[0]).toMatchObject({ tier: "default", rate_per_minute: 120 });
    expect(all.rows[0]).toMatchObject({
      rate_per_minute: 120,
      account_rate_per_minute: 300,
      account_burst: 200,
    });

    const limited = "--expires 30d --call-limit 0.01 --day-limit 0.25 --json --tools";
    const scoped = `keys create --account ${accountId} --scopes compute:read,billing:read --name n`;
    const key = (await run(`${scoped} ${limited}`, "vram_estimate, echo")).rows[0];
    const authorization = { authorization: `Bearer ${String(key?.["api_key"])}` };
    const bought = await world.post(
      undefined,
      "/v1/mcp/tools/call",
      { tool: "vram_estimate", params: { model: "llama-3.1-8b" } },
      authorization,
    );
    expect(bought.body.receipt.debited_usdc_microusd).toBe(1000);

    const listed = await toolgate("keys", "list", "--account", accountId, "--json");
    expect(listed.rows[0]).toMatchObject({
      key_id: key?.["key_id"],
      scopes: ["compute:read", "billing:read"],
      tools: ["vram_estimate", "echo"],
      call_limit_usdc: "0.010000",
      day_limit_usdc: "0.250000",
      expires_at: expect.stringMatching(/Z$/),
      revoked_at: null,
    });
    expect(listed.rows[0]).toHaveProperty("last_used_at");
    expect(listed.stdout).not.toContain(String(key?.["api_key"]));
    const keyId = String(key?.["key_id"]);
    const group = await run(`keys groups create --account ${accountId} --name CI --json`);
    expect(group).toMatchObject({ code: 0, stderr: "" });
    const groupId = String(group.rows[0]?.["group_id"]);
    for (const edited of await Promise.all([
      ownProcess("keys", "edit", "--key", keyId, "--month-limit", "5", "--json"),
      ownProcess("keys", "edit", "--key", keyId, "--call-limit", "none", "--group", groupId, "--json"),
    ]))
      expect(edited).toMatchObject({ code: 0, stderr: "" });
    expect((await toolgate("keys", "list", "--account", accountId, "--json")).rows[0]).toMatchObject({
      name: "n",
      group_id: groupId,
      tools: ["vram_estimate", "echo"],
      call_limit_usdc: null,
      day_limit_usdc: "0.250000",
      month_limit_usdc: "5.000000",
      budgets: [
        { period: "day", spent_usdc: "0.001000", held_usdc: "0.000000", reached: "none" },
        { period: "month", limit_usdc: "5.000000", spent_usdc: "0.001000" },
      ],
    });
    const next = await run(`keys rotate --key ${String(key?.["key_id"])} --overlap 15m --json`);
    expect(next.rows[0]).toMatchObject({
      api_key: expect.stringMatching(/^sk-agent-/),
      name: "n",
      day_limit_usdc: "0.250000",
      replaced_key_id: key?.["key_id"],
      replaced_until: expect.stringMatching(/Z$/),
    });
    const remove = ["keys", "groups", "delete", "--group", groupId, "--account"];
    expect((await toolgate(...remove, `acct_${"0".repeat(32)}`)).stderr).toMatch(/no such group/);
    expect((await toolgate(...remove, accountId)).code).toBe(0);
    expect((await toolgate("keys", "revoke", "--key", String(key?.["key_id"]))).code).toBe(0);
    await expect
      .poll(async () => (await world.get(undefined, "/receipts", authorization)).status, { interval: 50 })
      .toBe(401);
  });

  it("creates many funded accounts with a key each", async () => {
    const { rows } = await run(`accounts create --count 3 --usdc 1.5 --rate 600 --burst 100 --json`);
    expect(rows).toHaveLength(3);
    for (const row of rows)
      expect(row).toMatchObject({
        balance_usdc: "1.500000",
        rate_per_minute: 600,
        burst: 100,
        api_key: expect.stringMatching(/^sk-agent-/),
      });
  });

  it("rejects adjustments beyond the largest balance", async () => {
    const { accountId } = await world.agent();
    const adjust = (usdc: string) =>
      run(`accounts adjust --account ${accountId} --usdc=${usdc} --reason trial --json`);
    const most = "9007199254.740991";
    for (const usdc of ["9007199254.740992", "9223372036854.775807", "-9223372036854.775808", "9999999999"])
      expect(await adjust(usdc), usdc).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(new RegExp(`--usdc <amount>.* at most ${most}`)),
      });
    expect(await adjust(most)).toMatchObject({ code: 0, rows: [{ balance_usdc: most }] });
    expect(await adjust(most)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^INVALID_REQUEST: amount_usdc_microusd: .*\n$/),
    });
    expect(await adjust(`-${most}`)).toMatchObject({ code: 0, rows: [{ balance_usdc: "0.000000" }] });
  });

  it("lists and explains changes of a balance that the ledger has not numbered", async () => {
    const [account] = (await run("accounts create --count 1 --usdc 1 --json")).rows;
    const accountId = String(account?.["account_id"]);
    const where = `where id = '${accountId.slice("acct_".length)}'`;
    for (const by of [1, -1])
      await query(
        world.database.url,
        `update account set available = available + ${by}, seq = seq + 1 ${where}`,
      );
    const step = { account_id: accountId, number: "3" };
    expect((await run("accounts explain --json")).rows).toEqual([{ ...step, explained: false }]);
    expect(await run("accounts explain --reason undone")).toMatchObject({
      code: 2,
      stderr: /--reason needs --account/,
    });
    const explained = await run(`accounts explain --account ${accountId} --reason undone --json`);
    expect(explained.rows).toEqual([{ ...step, explained: true }]);
    expect((await run(`accounts explain --account ${accountId} --json`)).rows).toEqual([]);
    expect((await run("accounts explain --account acct_nonsense")).code).toBe(1);
    expect((await run("audit --full")).code).toBe(0);
  });

  it("decodes a quote and audits the ledger", async () => {
    const agent = await world.agent();
    const { body } = await world.call(agent, "vram_estimate", { model: "llama-3.1-8b" });
    const quote = await toolgate("quote", body.quote.quote_id, "--json");
    expect(quote.rows[0]).toMatchObject({
      account_id: agent.accountId,
      price_usdc: "0.001000",
      step_id: body.step_id,
      expired: false,
    });
    const offer = await world.post(undefined, "/x402/vram_estimate", { model: "llama-3.1-8b" });
    const forWallets = await toolgate("quote", offer.body.quote.quote_id, "--json");
    expect(forWallets.rows[0]).toMatchObject({ account_id: null, price_usdc: "0.001000" });
    expect((await ownProcess("quote", "qt_forged")).code).toBe(1);
    const audit = await ownProcess("audit", "--full", "--json");
    expect(audit.code).toBe(0);
    expect(audit.rows.length).toBeGreaterThan(5);
    for (const row of audit.rows) expect(row).toMatchObject({ violations: 0 });
    expect((await ownProcess("audit", "--full")).stderr).toBe(`All ${audit.rows.length} invariants hold.\n`);
    expect((await ownProcess("migrate", "--json")).rows).toEqual([{ applied: [] }]);
  });

  it("audits the ledger against the chain and accepts a surplus only", async () => {
    const agent = await world.agent();
    const offer = await world.call(agent, "vram_estimate", { model: "llama-3.1-8b" });
    const tx = await world.pay(agent, 1_000n, memoOf(offer.body.quote));
    const headers = xPayment(tx, offer.body.quote.quote_id);
    const bought = await world.call(agent, "vram_estimate", { model: "llama-3.1-8b" }, { headers });
    expect(bought.status).toBe(200);

    const settings = {
      SOLANA_RPC_URLS: world.chain.url,
      TREASURY_OWNER: world.treasury.publicKey.toBase58(),
    };
    const treasury = async (more: Record<string, string>) => {
      const { code, rows } = await toolgateWith(more, "audit", "--chain", "--json");
      return { code, line: rows.find((row) => row["invariant"] === "treasury_matches_chain") };
    };
    expect(await treasury(settings)).toMatchObject({
      code: 0,
      line: { violations: 0, difference_usdc: "0.000000" },
    });
    await world.pay(agent, 500n, "a gift");
    expect(await treasury(settings)).toMatchObject({
      code: 0,
      line: { violations: 0, difference_usdc: "0.000500" },
    });

    const poor = world.chain.controls.createWallet({ microUsd: 0n }).publicKey.toBase58();
    expect(await treasury({ ...settings, TREASURY_OWNER: poor })).toMatchObject({
      code: 1,
      line: { violations: 1, chain_usdc: "0.000000", difference_usdc: "-0.001000" },
    });
    const missing = await toolgateWith({ ...settings, TREASURY_OWNER: WALLET }, "audit", "--chain");
    expect(missing).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^Cannot read the treasury's account .*\n$/),
    });
    const silent = await toolgateWith(
      { ...settings, SOLANA_RPC_URLS: "http://127.0.0.1:1" },
      "audit",
      "--chain",
    );
    expect(silent).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^Cannot read the treasury: .*SOLANA_RPC_URLS.*\n$/),
    });
    const unset = await ownProcess("audit", "--chain");
    expect(unset.code).toBe(2);
    for (const name of ["SOLANA_RPC_URLS", "TREASURY_OWNER"]) expect(unset.stderr).toContain(name);
  });

  it("exits with 2 for invalid arguments and with 1 for failures", async () => {
    for (const args of [
      ["accounts", "create"],
      ["accounts", "create", "--wallet", "me"],
      ["accounts", "adjust", "--account", "x", "--usdc", "1e3", "--reason", "r"],
      ["keys", "create", "--account", "x", "--scopes", "fly:high"],
      ["keys", "create", "--account", "x", "--expires", "soon"],
      ["accounts", "tier", "--account", "x", "--rate", "-1", "--burst", "1"],
    ]) {
      const { code, stderr } = await toolgate(...args);
      expect(code, args.join(" ")).toBe(2);
      expect(stderr, args.join(" ")).toMatch(/error: /);
    }
    const unknown = await toolgate("accounts", "show", "--account", `acct_${"0".repeat(32)}`);
    expect(unknown.code).toBe(1);
    expect(unknown.stderr).toMatch(/NOT_FOUND/);
    const toolless = await toolgate("keys", "create", "--account", "x", "--tools", "echo,nope");
    expect(toolless.code).toBe(1);
    expect(toolless.stderr).toMatch(/limits\.tools\[1\]: must be one of get_status, echo/);
  });
});

describe("find", () => findFlow(() => world));
