import { readFile } from "node:fs/promises";
import { createTransferCheckedInstruction, getAssociatedTokenAddressSync } from "@solana/spl-token";
import { PublicKey, TransactionInstruction } from "@solana/web3.js";
import { expect, test } from "vitest";
import type { ConsoleWorld } from "./console-world.ts";
import { testWallet } from "./wallet.ts";

export function moneyFlows(world: ConsoleWorld): void {
  test("tracks a deposit from the connected wallet until it is credited", async () => {
    const agent = await world.agent();
    const { page } = await world.signedInBrowser(agent.wallet, { wallets: [testWallet(agent.wallet)] });
    await page.goto("deposit");
    await page.getByLabel("Amount in USDC").fill("2.5");
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByRole("button", { name: "Test wallet" }).click();
    await page.getByRole("button", { name: "Pay $2.50" }).click();
    await page.getByText("Credited to your balance").waitFor();
    expect(await world.postgres.ledger.balance(agent.accountId)).toBe(2_500_000n);
    await page.getByRole("navigation").getByRole("link", { name: "Overview" }).click();
    await page.getByText("$2.50").first().waitFor();
    expect(await world.violations()).toEqual([]);
  });

  test("exports a statement that sums to the ledger balance", async () => {
    const agent = await world.agent({ balance: 5_000_000n });
    for (const count of [1, 2, 3]) await world.call(agent, "vram_estimate", { parameters_b: count });
    const { page } = await world.signedInBrowser(agent.wallet);
    await page.goto("activity");
    await page.getByRole("tab", { name: "Statement" }).click();
    await page.getByRole("table", { name: "Statement" }).waitFor();
    await page.emulateMedia({ media: "print" });
    expect(await page.getByRole("navigation", { name: "Console" }).isVisible()).toBe(false);
    expect(await page.getByRole("button", { name: "Export CSV" }).isVisible()).toBe(false);
    expect(await page.getByRole("table", { name: "Statement" }).isVisible()).toBe(true);
    await page.emulateMedia({ media: "screen" });
    await page.getByRole("button", { name: "Export CSV" }).click();
    const downloading = page.waitForEvent("download");
    await page.getByRole("link", { name: "Download CSV" }).click();
    const [head = "", ...lines] = (await readFile(await (await downloading).path(), "utf8"))
      .trim()
      .split(/\r?\n/);
    const columns = head.split(",");
    const rows = lines.map((line) =>
      Object.fromEntries(line.split(",").map((cell, at) => [columns[at] ?? "", cell])),
    );
    expect(rows.map((row) => row["kind"])).toEqual(["adjustment", "charge", "charge", "charge"]);
    const micro = (usdc = "") => BigInt(Math.round(Number(usdc) * 1_000_000));
    const balance = await world.postgres.ledger.balance(agent.accountId);
    expect(rows.reduce((sum, row) => sum + micro(row["amount_usdc"]), 0n)).toBe(balance);
    expect(micro(rows.at(-1)?.["balance_usdc"])).toBe(balance);
  });

  test("credits a deposit that another wallet pays by its Solana Pay link", async () => {
    const [agent, other] = [await world.agent(), await world.agent()];
    const { page } = await world.signedInBrowser(agent.wallet);
    await page.goto("deposit");
    const start = async () => {
      await page.getByRole("button", { name: "$25", exact: true }).click();
      await page.getByRole("button", { name: "Continue" }).click();
    };
    await start();
    await page.getByRole("button", { name: "Cancel deposit" }).click();
    await page.getByText("This deposit was cancelled").waitFor();
    await page.getByRole("table", { name: "Deposits" }).getByText("Cancelled").waitFor();
    expect(await page.locator(".progress li").count()).toBe(0);
    await page.getByRole("link", { name: "New deposit" }).click();
    await start();
    await page.getByRole("img", { name: "Solana Pay code of this deposit" }).waitFor();
    expect(await page.locator(".progress").innerText()).not.toContain("in progress");
    // Phone cameras need modules of about four pixels.
    for (const width of [1_280, 390]) {
      await page.setViewportSize({ width, height: 844 });
      await page.getByRole("button", { name: "Enlarge the code" }).click();
      const code = page.getByRole("img", { name: "Enlarged Solana Pay code" });
      const modules = Number((await code.getAttribute("viewBox"))?.split(" ")[2]);
      expect(((await code.boundingBox())?.width ?? 0) / modules).toBeGreaterThanOrEqual(4);
      await page.getByRole("button", { name: "Close" }).click();
    }
    const link = await page.getByRole("link", { name: "Open in a wallet app" }).getAttribute("href");
    await world.send(other, solanaPay(other.wallet.publicKey, link ?? ""));
    await page.getByText("Credited to your balance").waitFor();
    expect(await world.postgres.ledger.balance(agent.accountId)).toBe(25_000_000n);
    expect(await world.postgres.ledger.balance(other.accountId)).toBe(0n);
  });
}

/**
 * Builds the instructions of a Solana Pay transfer request: the memo, then the transfer with its references.
 */
function solanaPay(payer: PublicKey, link: string): TransactionInstruction[] {
  const url = new URL(link);
  const part = (name: string) => url.searchParams.get(name) ?? "";
  const mint = new PublicKey(part("spl-token"));
  const [from, to] = [payer, new PublicKey(url.pathname)].map((owner) =>
    getAssociatedTokenAddressSync(mint, owner),
  );
  if (!from || !to) throw new Error("no token account");
  const microUsd = BigInt(Math.round(Number(part("amount")) * 1_000_000));
  const transfer = createTransferCheckedInstruction(from, mint, to, payer, microUsd, 6);
  for (const reference of url.searchParams.getAll("reference"))
    transfer.keys.push({ pubkey: new PublicKey(reference), isSigner: false, isWritable: false });
  const memo = new TransactionInstruction({
    programId: new PublicKey("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr"),
    keys: [{ pubkey: payer, isSigner: true, isWritable: false }],
    data: Buffer.from(part("memo")),
  });
  return [memo, transfer];
}
