import type { RequestRecord } from "../app/operations/request-record.ts";
import type { Caller } from "../domain/accounts/caller.ts";
import type { CallContext } from "../domain/calls/call-context.ts";
import type { Form } from "../domain/tools/tool.ts";
import type { Memo } from "../domain/payments/memo.ts";
import type { ClientInfo } from "./authentication.ts";
import type { Header } from "./headers.ts";
import type { SettlementReport } from "./x402/settlement.ts";

/**
 * A service's context of a call besides its message, on every transport. `caller` is undefined when no key is
 * required and none was sent.
 */
export interface RequestContext<Who = Caller | undefined> extends CallContext<Who> {
  /** X-Payment header or metadata, as sent. */
  readonly xPayment: string | undefined;
  /** PAYMENT-SIGNATURE (x402 v2, HTTP transport), as sent. */
  readonly paymentSignature?: string | undefined;
  /** `_meta["x402/payment"]` (x402 v2, MCP transport), as sent; undefined elsewhere. */
  readonly metaPayment?: unknown;
  /** Credentials of the scheme `Payment` in Authorization, without the scheme. */
  readonly credential?: string | undefined;
  /** `_meta["org.paymentauth/credential"]`, as sent; undefined elsewhere. */
  readonly metaCredential?: unknown;
  /** Accept-Payment, as sent. */
  readonly acceptPayment?: string | undefined;
  /** The request's body, if challenges are to be bound to it. */
  readonly body?: Buffer | undefined;
  /** Path of the request, such as `/mcp`: the paid resource in x402. Undefined over gRPC and Connect. */
  readonly path?: string | undefined;
  /** Why the call cannot be read; the request has the parameters of the tool's example instead. */
  readonly unreadable?: string;
  /** Receives the outcome of the payment before the response; the transport sends the headers with it. */
  readonly onSettlement?: (report: SettlementReport) => void;
  /** The API whose body the parameters of a tool call are. Undefined: the tool's own. */
  readonly form?: Form;
  /** Idempotency-Key header or metadata, as sent. */
  readonly idempotencyKey: string | undefined;
  /** Where a request without an API key comes from; undefined where that does not matter. */
  readonly client?: ClientInfo | undefined;
  /** Undefined where requests are not recorded. */
  readonly record?: RequestRecord | undefined;
  /** Adds a header to a successful response, such as a cookie; undefined when the transport cannot. */
  readonly addHeader?: (header: Header) => void;
  /** Memo form that this transport's 402 responses announce; all transports accept both. */
  readonly memoForm: Memo["form"];
}
