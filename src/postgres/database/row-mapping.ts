import { encodeBase58, parseSignature } from "../../domain/core/base58.ts";
import { SOLANA, type PaymentId } from "../../domain/payments/payment-id.ts";
import { uuidOf, type IdPrefix } from "../../domain/core/ids.ts";
import { RECEIPT_MEMBERS, type Receipt } from "../../domain/calls/receipt.ts";

export interface PaymentColumns {
  readonly network: string;
  readonly reference: Buffer;
}

/**
 * The stored reference: on Solana the 64 bytes of the signature, elsewhere the text in UTF-8.
 * @throws Error for an invalid signature
 */
export function referenceFrom({ network, reference }: PaymentId): Buffer {
  if (network !== SOLANA) return Buffer.from(reference);
  const bytes = parseSignature(reference);
  if (!bytes) throw new Error("not a transaction signature");
  return Buffer.from(bytes);
}

export function referenceText({ network, reference }: PaymentColumns): string {
  return network === SOLANA ? encodeBase58(reference) : reference.toString();
}

/** The payment in a transfer's `ref` (SQL function payment_ref). */
export function paymentOfRef(ref: Buffer): PaymentColumns {
  const end = ref.indexOf(0);
  return { network: ref.subarray(0, end).toString(), reference: ref.subarray(end + 1) };
}

/** A row of the view `issued_receipt`. */
export type ReceiptRow = Columns<Omit<Receipt, "receiptId" | "runId" | "txSignature">> & {
  id: string;
  run_id: string;
  network: string | null;
  reference: Buffer | null;
};

/** The columns of an object's members: names in snake case, null for undefined. */
type Columns<Target> = {
  [Member in keyof Target & string as SnakeCase<Member>]-?:
    | Exclude<Target[Member], undefined>
    | (undefined extends Target[Member] ? null : never);
};

type SnakeCase<Name extends string> = Name extends `${infer Head}${infer Tail}`
  ? `${Head extends Lowercase<Head> ? Head : `_${Lowercase<Head>}`}${SnakeCase<Tail>}`
  : "";

const MEMBERS = Object.keys(RECEIPT_MEMBERS)
  .filter((member) => !["receiptId", "runId", "txSignature"].includes(member))
  .map((member) => [member, snakeCase(member)] as const);

export function toReceipt(row: ReceiptRow): Receipt {
  return {
    ...plainMembers(row),
    receiptId: idFromUuid("rcpt", row.id),
    runId: idFromUuid("run", row.run_id),
    txSignature: paidReference(row),
  };
}

/** Reads members from columns of the same name. The overload states what {@link ReceiptRow} implies. */
function plainMembers(row: ReceiptRow): Omit<Receipt, "receiptId" | "runId" | "txSignature">;
function plainMembers(row: Readonly<Record<string, unknown>>): object {
  const plain: Record<string, unknown> = {};
  for (const [member, column] of MEMBERS) plain[member] = row[column] ?? undefined;
  return plain;
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function paidReference({ network, reference }: ReceiptRow): string | undefined {
  return network === null || reference === null ? undefined : referenceText({ network, reference });
}

/** The prefixed identifier of a uuid. */
export function idFromUuid(prefix: IdPrefix, uuid: string): string {
  return `${prefix}_${uuid.replaceAll("-", "")}`;
}

/** The uuid of an identifier created by this service. @throws Error for any other text */
export function uuidFromId(prefix: IdPrefix, id: string): string {
  const uuid = uuidOf(prefix, id);
  if (uuid === undefined) throw new Error(`not an identifier with prefix ${prefix}: ${id}`);
  return uuid;
}

/** The 64 bytes of a validated signature. @throws Error when invalid */
export function signatureFrom(txSignature: string): Buffer {
  const bytes = parseSignature(txSignature);
  if (!bytes) throw new Error("not a transaction signature");
  return Buffer.from(bytes);
}
