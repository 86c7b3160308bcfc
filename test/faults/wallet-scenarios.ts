import { VersionedTransaction } from "@solana/web3.js";
import { base58 } from "@scure/base";
import { z } from "zod";
import { buildPayment, encodeTransaction } from "../../src/client/transaction.ts";
import type { Call, Reply } from "./client.ts";
import type { Dice } from "./seeded-random.ts";
import type { Customer } from "./environment.ts";
import { named, type Market } from "./market.ts";
import { walletId } from "./money-checks.ts";
import type { Scenario } from "./purchases.ts";

/** Funds of a wallet, micro-USD. */
const FUNDS = 1_000_000;

const offer = z.object({
  accepts: z.array(
    z.looseObject({
      amount: z.string(),
      asset: z.string(),
      extra: z.looseObject({ memo: z.string(), recentBlockhash: z.string().optional() }),
    }),
  ),
});

/** Calls without an API key: the wallet signs, the gateway sends. */
export const WALLET_SCENARIOS: readonly Scenario[] = [
  {
    name: "a call that a new wallet pays",
    weight: 4,
    async play(market, _cast, dice) {
      const customer = await newWallet(market);
      await buysByWallet(market, dice, customer);
      // Its account exists by now.
      if (dice.next() < 0.3) await buysByWallet(market, dice, customer);
    },
  },
];

async function newWallet(market: Market): Promise<Customer> {
  const wallet = await market.ground.chain.wallet(FUNDS);
  const accountId = walletId(wallet.publicKey.toBase58());
  const customer = { accountId, apiKey: undefined, wallet, opening: 0n };
  market.reference.open(customer);
  return customer;
}

/** Signs an offer and sends it until it bought its call or is refused, then again at all instances. */
async function buysByWallet(market: Market, dice: Dice, customer: Customer): Promise<void> {
  const call = market.estimate();
  const offered = await market.insist(dice, customer, call);
  if (!offered) return;
  if (offered.status !== 402 || offered.body.code !== "PAYMENT_REQUIRED") {
    const reported = offered.body;
    market.tally.violated("a wallet without a key gets an offer", { ...named(customer, call), reported });
    return;
  }
  const paid = await sign(market, customer, call, offered);
  const reported = await market.insist(dice, customer, paid);
  if (!reported) return;
  if (reported.status !== 200) {
    expectNothingSold(market, customer, paid, reported);
    return;
  }
  const { tx = "" } = paid.proof ?? {};
  market.reference.toldOf(tx);
  if (reported.body.receipt?.tx_signature !== tx)
    market.tally.violated("a wallet buys with its own payment", {
      ...named(customer, paid),
      reported: reported.body,
    });
  const again = await Promise.all([0, 1, 2].map((at) => market.insist(dice, customer, paid, at)));
  for (const repeat of again)
    if (repeat && repeat.status !== 200)
      market.tally.violated("a call that is paid for is answered", {
        ...named(customer, paid),
        reported: repeat.body,
      });
}

/** The call with its payment, recorded before it is sent: the signature follows from both keys. */
async function sign(
  { ground, reference }: Market,
  customer: Customer,
  call: Call,
  { headers }: Reply,
): Promise<Call> {
  const header = z.string().parse(headers["payment-required"]);
  const [accepted] = offer.parse(JSON.parse(Buffer.from(header, "base64").toString())).accepts;
  if (!accepted) throw new Error("an offer has no entry");
  const { amount, asset: mint, extra } = accepted;
  const { wallet } = customer;
  const unsigned = buildPayment({
    payer: wallet.publicKey.toBase58(),
    feePayer: ground.feePayer.publicKey.toBase58(),
    payTo: ground.chain.tokenAccount(ground.treasury.publicKey),
    ...{ mint, amount: BigInt(amount), memo: extra.memo },
    blockhash: extra.recentBlockhash ?? (await ground.chain.recentBlockhash()),
    computeUnitPrice: 1n,
  });
  const transaction = VersionedTransaction.deserialize(encodeTransaction(unsigned));
  transaction.sign([wallet]);
  const payload = { transaction: Buffer.from(transaction.serialize()).toString("base64") };
  transaction.sign([ground.feePayer]);
  const tx = base58.encode(transaction.signatures[0] ?? new Uint8Array());
  reference.signed(tx, BigInt(amount), customer);
  const sent = JSON.stringify({ x402Version: 2, payload, accepted });
  return { ...call, proof: { tx, quoteId: "" }, paymentSignature: Buffer.from(sent).toString("base64") };
}

/** A blockhash or quote may expire while everything fails. The chain shows whether USDC moved. */
function expectNothingSold(market: Market, customer: Customer, call: Call, { status, body }: Reply): void {
  if (status === 402 && (body.code === "INVALID_PAYMENT" || body.code === "QUOTE_EXPIRED")) return;
  market.tally.violated("a wallet's payment buys its call, or is refused for its expiry", {
    ...named(customer, call),
    reported: body,
  });
}
