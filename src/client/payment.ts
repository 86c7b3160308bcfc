import { isObject, jsonInBase64Url, jsonObject } from "./bytes.ts";
import type { PaymentSummary } from "./errors.ts";

/** The payment of an answered call. */
export interface Payment extends PaymentSummary {
  /** The receipt of a response (specification 2.5), or of Payment-Receipt; undefined without one. */
  readonly receipt: Readonly<Record<string, unknown>> | undefined;
}

const payments = new WeakMap<Response, Payment>();

/** Cost of a response; undefined without an on-chain payment (a free call, or paid from the balance). */
export function paymentOf(response: Response): Payment | undefined {
  return payments.get(response);
}

/** Records the cost of a response. */
export function attachPayment(response: Response, payment: Payment): void {
  payments.set(response, payment);
}

/** The receipt of the scheme `Payment` in a header. */
export function receiptInHeader({ headers }: Response): Payment["receipt"] {
  return jsonInBase64Url(headers.get("payment-receipt") ?? "");
}

/** The receipt in a body: beside the result, or in the `_meta` of an MCP result. */
export function receiptIn(text: string): Readonly<Record<string, unknown>> | undefined {
  const body = jsonObject(text);
  const result = body?.["result"];
  const meta = isObject(result) ? result["_meta"] : undefined;
  const receipt = body?.["receipt"] ?? (isObject(meta) ? meta["toolgate/receipt"] : undefined);
  return isObject(receipt) ? receipt : undefined;
}
