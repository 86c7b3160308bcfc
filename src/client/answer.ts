import { fromBinary, fromJsonString } from "@bufbuild/protobuf";
import { fromBase64, isObject, jsonObject } from "./bytes.ts";
import { ErrorBodySchema, type PaymentRequired, PaymentRequiredSchema } from "./messages.ts";

export interface Refusal {
  /** Error code, e.g. INVALID_PAYMENT; or a problem's type, e.g. verification-failed. */
  readonly code: string;
  readonly message: string;
  readonly requestId: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  /** The offer of PAYMENT_REQUIRED. */
  readonly paymentRequired: PaymentRequired | undefined;
}

/** Maximum error body that is read, bytes. The gateway's own have about 2 KiB. */
const MAX_BODY = 256 * 1024;

/** Reads a failed answer in any of its forms, as a copy. @returns undefined if it is not the gateway's */
export async function readRefusal(response: Response): Promise<Refusal | undefined> {
  if (response.ok || !(response.headers.get("content-type") ?? "").includes("json")) return undefined;
  const body = jsonObject((await limitedText(response.clone())) ?? "");
  if (!body) return undefined;
  const refusal = isConnectError(body) ? fromConnect(body["details"]) : fromBody(body);
  if (!refusal) return undefined;
  const retryAfterSeconds = retryAfterOf(response.headers.get("retry-after")) ?? refusal.retryAfterSeconds;
  return { ...refusal, retryAfterSeconds };
}

function fromBody(body: Record<string, unknown>): Refusal | undefined {
  const problem = /^https:\/\/paymentauth\.org\/problems\/([\w-]+)$/.exec(String(body["type"]))?.[1];
  const { code = problem, message = body["detail"] ?? "", request_id: requestId } = body;
  if (typeof code !== "string" || typeof message !== "string") return undefined;
  const retryAfter = body["retry_after_seconds"];
  const retryAfterSeconds =
    typeof retryAfter === "number" && Number.isFinite(retryAfter) ? retryAfter : undefined;
  return {
    code,
    message,
    requestId: typeof requestId === "string" ? requestId : undefined,
    retryAfterSeconds,
    paymentRequired: code === "PAYMENT_REQUIRED" ? offerIn(body) : undefined,
  };
}

function offerIn(body: object): PaymentRequired | undefined {
  try {
    const offer = fromJsonString(PaymentRequiredSchema, JSON.stringify(body), { ignoreUnknownFields: true });
    return offer.quote && offer.paymentInstructions ? offer : undefined;
  } catch {
    return undefined;
  }
}

/** https://connectrpc.com/docs/protocol#error-end-stream: `details` of type and base64 value. */
function isConnectError(body: Record<string, unknown>): boolean {
  return Array.isArray(body["details"]) && body["quote"] === undefined;
}

function fromConnect(details: unknown): Refusal | undefined {
  for (const detail of Array.isArray(details) ? details : []) {
    const refusal = isObject(detail) ? fromDetail(detail["type"], detail["value"]) : undefined;
    if (refusal) return refusal;
  }
  return undefined;
}

function fromDetail(type: unknown, value: unknown): Refusal | undefined {
  const bytes = typeof value === "string" ? fromBase64(value) : undefined;
  if (!bytes) return undefined;
  try {
    if (type === PaymentRequiredSchema.typeName) {
      const offer = fromBinary(PaymentRequiredSchema, bytes, { readUnknownFields: false });
      const paymentRequired = offer.quote && offer.paymentInstructions ? offer : undefined;
      const { code, message, requestId } = offer;
      return { code, message, requestId, retryAfterSeconds: undefined, paymentRequired };
    }
    if (type !== ErrorBodySchema.typeName) return undefined;
    const error = fromBinary(ErrorBodySchema, bytes, { readUnknownFields: false });
    const { code, message, requestId, retryAfterSeconds } = error;
    return { code, message, requestId, retryAfterSeconds, paymentRequired: undefined };
  } catch {
    return undefined;
  }
}

function retryAfterOf(header: string | null): number | undefined {
  return header !== null && /^\d{1,6}$/.test(header) ? Number(header) : undefined;
}

async function limitedText(response: Response): Promise<string | undefined> {
  const body: ReadableStream<Uint8Array> | null = response.body;
  const reader = body?.getReader();
  if (!reader) return undefined;
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    text += decoder.decode(value, { stream: true });
    if (text.length > MAX_BODY) {
      // Not awaited: the caller still reads the other branch of the clone.
      void reader.cancel().catch(() => {});
      return undefined;
    }
  }
}
