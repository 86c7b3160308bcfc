import { randomBytes } from "node:crypto";
import { base58 } from "@scure/base";
import { describe, expect, it } from "vitest";
import { startWorld } from "../support/world.ts";
import { gift, WATCHFUL } from "../transport/services/gift.ts";
import { runToolgateHere } from "./toolgate.ts";
import { closing } from "../support/postgres.ts";

/** Runs treasury commands on the database of a running gateway. */

const world = closing(await startWorld(WATCHFUL));

const toolgate = (...args: string[]) =>
  runToolgateHere(
    { DATABASE_URL: world.database.url, TREASURY_OWNER: world.treasury.publicKey.toBase58() },
    args,
  );

describe("the operator's commands for the treasury", () => {
  it("lists a transfer without a quote and assigns it once", async () => {
    expect(await toolgate("suspense", "list")).toMatchObject({
      code: 0,
      stdout: "",
      stderr: "There are no transfers in suspense.\n",
    });
    const [payer, other] = await Promise.all([world.agent(), world.agent()]);
    const tx = await gift(world, payer, 1_500n, "for lunch");
    const listed = await toolgate("suspense", "list", "--status", "open", "--json");
    expect(listed.rows).toEqual([
      {
        tx_signature: tx,
        amount_usdc: "0.001500",
        block_time: expect.stringMatching(/^\d{4}-/),
        payer: payer.wallet.publicKey.toBase58(),
        status: "open",
        assigned_to: null,
        reason: null,
        memos: expect.stringContaining("for lunch"),
      },
    ]);

    const assign = (...to: string[]) =>
      toolgate("suspense", "assign", "--tx", tx, ...to, "--reason", "he wrote to us", "--json");
    const assigned = await assign("--account", payer.accountId);
    expect(assigned.rows).toEqual([
      { ...listed.rows[0], status: "assigned", assigned_to: payer.accountId, reason: "he wrote to us" },
    ]);
    expect(await assign("--account", payer.accountId)).toEqual(assigned);
    for (const to of [["--account", other.accountId], ["--operator"]]) {
      expect(await assign(...to)).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/^INVALID_REQUEST: /),
      });
    }
    expect((await world.call(payer, "vram_estimate", { model: "llama-3.1-8b" })).status).toBe(200);
    expect((await toolgate("audit", "--json")).code).toBe(0);
  });

  it("prints memos without terminal escapes and the next cursor", async () => {
    const payer = await world.agent();
    await gift(world, payer, 1n, "first");
    await gift(world, payer, 2n, "\u001b[2J\u009b2Jgone\nstatus  assigned");
    const first = await toolgate("suspense", "list", "--limit", "1");
    expect(first.stdout).toContain("\ufffd[2J\ufffd2Jgone\ufffdstatus  assigned");
    expect(first.stdout.split("\n")).toHaveLength(3);
    const cursor =
      /^More results: add --cursor (\S+)\nTo assign a transfer: suspense assign .*\n$/.exec(
        first.stderr,
      )?.[1] ?? "";
    expect((await toolgate("suspense", "list", "--cursor", cursor)).stdout).toContain("0.000001");

    const { rows } = await toolgate("suspense", "list", "--limit", "1", "--json");
    expect(rows).toMatchObject([{ amount_usdc: "0.000002" }, { next_cursor: cursor }]);
  });

  it("refunds a receipt once", async () => {
    const buyer = await world.agent({ balance: 1_000n });
    const { body } = await world.call(buyer, "vram_estimate", { model: "llama-3.1-8b" });
    const refund = () =>
      toolgate("receipts", "refund", "--receipt", body.receipt.receipt_id, "--reason", "of no use", "--json");
    const refunded = { receipt_id: body.receipt.receipt_id, refunded_usdc: "0.001000", status: "refunded" };
    expect((await refund()).rows).toMatchObject([{ ...refunded, refunded_now: true }]);
    expect((await refund()).rows).toMatchObject([{ ...refunded, refunded_now: false }]);
    expect(await world.postgres.ledger.balance(buyer.accountId)).toBe(1_000n);
  });

  it("shows the treasury", async () => {
    const before = (await toolgate("treasury", "show", "--json")).rows[0];
    expect(before).toMatchObject({ token_account: world.gateway.payTo, slot: expect.any(Number) });
    expect(before).toMatchObject({ fee_payer: null, fee_payer_lamports: null, relay_lamports_today: 0 });
    await gift(world, await world.agent(), 1_000_000n, "a gift");
    const after = (await toolgate("treasury", "show", "--json")).rows[0];
    expect(Number(after?.["suspense_count"])).toBe(Number(before?.["suspense_count"]) + 1);
    expect(Number(after?.["expected_usdc"])).toBeCloseTo(Number(before?.["expected_usdc"]) + 1);
    const unset = await runToolgateHere({ DATABASE_URL: world.database.url }, ["treasury", "show"]);
    expect(unset).toMatchObject({ code: 2, stderr: expect.stringContaining("TREASURY_OWNER") });
    const elsewhere = { DATABASE_URL: world.database.url, TREASURY_OWNER: base58.encode(randomBytes(32)) };
    expect(await runToolgateHere(elsewhere, ["treasury", "show", "--json"])).toMatchObject({
      code: 0,
      rows: [{ expected_usdc: null, slot: null }],
      stderr: expect.stringContaining("not watched yet"),
    });
  });

  it("shows the fee payer's balance, and the rest when its key is unreadable", async () => {
    const { SOLANA_RPC_URLS = "", TREASURY_OWNER = "", FEE_PAYER_KEYPAIR = "" } = world.settings;
    const settings = { DATABASE_URL: world.database.url, SOLANA_RPC_URLS, TREASURY_OWNER };
    const show = (file: string) =>
      runToolgateHere({ ...settings, FEE_PAYER_KEYPAIR: file }, ["treasury", "show", "--json"]);
    expect((await show(FEE_PAYER_KEYPAIR)).rows[0]).toMatchObject({
      fee_payer: world.feePayer.publicKey.toBase58(),
      fee_payer_lamports: 1_000_000_000,
    });
    const unread = await show(`${FEE_PAYER_KEYPAIR}.none`);
    expect(unread).toMatchObject({
      code: 0,
      rows: [{ fee_payer: null, token_account: world.gateway.payTo }],
    });
    expect(unread.stderr).toMatch(/FEE_PAYER_KEYPAIR: .* cannot be read/);
  });

  it("exits with 2 for invalid treasury arguments and with 1 for failures", async () => {
    const tx = base58.encode(randomBytes(64));
    const account = `acct_${"0".repeat(32)}`;
    for (const args of [
      ["suspense", "list", "--status", "closed"],
      ["suspense", "list", "--limit", "101"],
      ["suspense", "assign", "--tx", "me", "--operator", "--reason", "r"],
      ["suspense", "assign", "--tx", tx, "--reason", "r"],
      ["suspense", "assign", "--tx", tx, "--operator", "--account", account, "--reason", "r"],
      ["suspense", "assign", "--tx", tx, "--operator"],
      ["suspense", "assign", "--tx", tx, "--operator", "--reason", " "],
      ["receipts", "refund", "--receipt", "rcpt_1", "--reason", "r".repeat(501)],
      ["receipts", "refund", "--receipt", "rcpt_1"],
    ]) {
      const { code, stderr } = await toolgate(...args);
      expect(code, args.join(" ")).toBe(2);
      expect(stderr, args.join(" ")).toMatch(/error: /);
    }
    for (const args of [
      ["suspense", "assign", "--tx", tx, "--operator", "--reason", "r"],
      ["receipts", "refund", "--receipt", `rcpt_${"0".repeat(32)}`, "--reason", "r"],
    ]) {
      const { code, stderr } = await toolgate(...args);
      expect(code, args.join(" ")).toBe(1);
      expect(stderr, args.join(" ")).toMatch(/^NOT_FOUND: /);
    }
    expect(await toolgate("suspense", "list", "--cursor", "elsewhere")).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^INVALID_REQUEST: cursor: /),
    });
  });
});
