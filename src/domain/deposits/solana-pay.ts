import { formatUsdc, type MicroUsd } from "../core/money.ts";

/** A transfer request (Solana Pay, specification version 1.1, "Transfer Request"). Addresses are base58. */
export interface TransferRequest {
  /** The wallet, not its token account: wallets derive that from the mint. */
  readonly recipient: string;
  /** Micro-USD. */
  readonly amount: MicroUsd;
  readonly splToken: string;
  /** Read-only, non-signer account of the transfer that makes it searchable. */
  readonly reference: string;
  readonly label: string;
  readonly message: string;
  readonly memo: string;
}

/** Formats a transfer request as a URL for a link or QR code. */
export function solanaPayUrl({
  recipient,
  amount,
  splToken,
  reference,
  label,
  message,
  memo,
}: TransferRequest): string {
  const fields = { amount: decimal(amount), "spl-token": splToken, reference, label, message, memo };
  const query = Object.entries(fields).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  return `solana:${recipient}?${query.join("&")}`;
}

/** Whole tokens with a leading zero, without trailing zeros or exponent. */
function decimal(amount: MicroUsd): string {
  return formatUsdc(amount).replace(/\.?0+$/, "");
}
