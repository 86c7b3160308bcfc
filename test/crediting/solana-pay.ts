import { createTransferCheckedInstruction, getAssociatedTokenAddressSync } from "@solana/spl-token";
import { PublicKey, Transaction, TransactionInstruction, type Connection } from "@solana/web3.js";

/**
 * The grammar of a transfer request, as the specification of Solana Pay states it:
 * solana:<recipient>?<field>=<value>&…
 */
const REQUEST = /^solana:([1-9A-HJ-NP-Za-km-z]{32,44})\?(.+)$/;
/**
 * "a non-negative integer or decimal number of 'user' units … if it is less than 1 it must have a leading 0 …
 * scientific notation is prohibited".
 */
const AMOUNT = /^(0|[1-9]\d*)(?:\.(\d+))?$/;
/** Characters that a value may hold without percent-encoding. */
const ENCODED = /^(?:[A-Za-z0-9\-._~!'()*:@/]|%[0-9A-F]{2})*$/;
const MEMO_PROGRAM = "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr";

/** A transfer request, parsed as a wallet does. @throws Error for an invalid one */
export function parseTransferRequest(url: string) {
  const [, recipient = "", query = ""] = REQUEST.exec(url) ?? [];
  const fields = new Map<string, string>();
  for (const field of query.split("&")) {
    const at = field.indexOf("=");
    const [name, value] = [field.slice(0, at), field.slice(at + 1)];
    if (at < 1 || fields.has(name) || !ENCODED.test(value)) throw new Error(`not a field: ${field}`);
    fields.set(name, decodeURIComponent(value));
  }
  const amount = AMOUNT.exec(fields.get("amount") ?? "");
  const known = ["amount", "spl-token", "reference", "label", "message", "memo"];
  if (recipient === "" || !amount || known.some((name) => !fields.has(name)) || fields.size !== known.length)
    throw new Error(`not a transfer request: ${url}`);
  const [, whole = "", fraction = ""] = amount;
  return {
    recipient: new PublicKey(recipient),
    mint: new PublicKey(fields.get("spl-token") ?? ""),
    reference: new PublicKey(fields.get("reference") ?? ""),
    memo: fields.get("memo") ?? "",
    /** Base units of a token with that many decimals. */
    units(decimals: number): bigint {
      if (fraction.length > decimals) throw new Error("the amount has more places than the token");
      return BigInt(whole + fraction.padEnd(decimals, "0"));
    },
  };
}

/** The transaction that a wallet builds from a transfer request alone. */
export async function transactionOf(
  url: string,
  payer: PublicKey,
  connection: Connection,
): Promise<Transaction> {
  const { recipient, mint, reference, memo, units } = parseTransferRequest(url);
  // "recipient must be a native SOL account", unlike a token account.
  if (!PublicKey.isOnCurve(recipient.toBytes())) throw new Error("the recipient is no wallet");
  const decimals = (await connection.getTokenSupply(mint)).value.decimals;
  const transfer = createTransferCheckedInstruction(
    getAssociatedTokenAddressSync(mint, payer),
    mint,
    getAssociatedTokenAddressSync(mint, recipient),
    payer,
    units(decimals),
    decimals,
  );
  transfer.keys.push({ pubkey: reference, isSigner: false, isWritable: false });
  const written = { programId: new PublicKey(MEMO_PROGRAM), keys: [], data: Buffer.from(memo) };
  const { blockhash, lastValidBlockHeight } = await connection.getLatestBlockhash();
  return new Transaction({ feePayer: payer, blockhash, lastValidBlockHeight }).add(
    new TransactionInstruction(written),
    transfer,
  );
}
