import { formatUsdc, type MicroUsd } from "../core/money.ts";

/** A transfer request (Solana Pay, specification version 1.1, "Transfer Request"). Addresses are base58. */
export interface TransferRequest {
  /** The wallet to pay, never its token account: wallets derive that from the mint. */
  readonly recipient: string;
  /** Micro-USD. */
  readonly amount: MicroUsd;
  readonly splToken: string;
  /** Named by the transfer as a read-only account that signs nothing, so that it can be found. */
  readonly reference: string;
  /** Who asks. */
  readonly label: string;
  /** What for. */
  readonly message: string;
  readonly memo: string;
}

/** Writes a transfer request as a URL, for a link or a QR code. */
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

/** Whole tokens: a zero before the point, no zeros after the last digit, and never an exponent. */
function decimal(amount: MicroUsd): string {
  return formatUsdc(amount).replace(/\.?0+$/, "");
}
