import type { RequestLogSettings } from "../../domain/accounts/request-log.ts";
import type { MicroUsd } from "../../domain/core/money.ts";
import type { Page } from "../../domain/core/page.ts";
import type { LoggedRequest } from "./account-requests.ts";
import type { RequestBody } from "./request-bodies.ts";

/** How requests ended: below 400, 402, other statuses below 500, the rest. */
export type RequestOutcome = "succeeded" | "payment_required" | "refused" | "failed";

/** Selects a page of an account's requests. Undefined members match everything. */
export interface RequestQuery {
  readonly accountId: string;
  /** 1..100 */
  readonly limit: number;
  readonly cursor: string | undefined;
  readonly outcome: RequestOutcome | undefined;
  readonly tool: string | undefined;
  /** `key_…` */
  readonly keyId: string | undefined;
  /** Inclusive. */
  readonly from: Date | undefined;
  /** Exclusive. */
  readonly to: Date | undefined;
  readonly minCharged: MicroUsd | undefined;
}

/** A request with the name of its key. */
export interface ListedRequest extends LoggedRequest {
  readonly keyName: string;
}

/** A request with what it carried. */
export interface RequestDetails extends ListedRequest {
  /** Undefined: not stored. Empty: stored, but its secret was retired. */
  readonly body: RequestBody | undefined;
}

/** The request log of accounts. */
export interface RequestLogQueries {
  /** Newest first. @throws ToolgateError INVALID_REQUEST for an invalid cursor */
  list(query: RequestQuery): Promise<Page<ListedRequest>>;
  /** @param id `log_…`, or the id of a request: then its latest row */
  find(accountId: string, id: string): Promise<RequestDetails | undefined>;
  /** Deletes one request, or all. @param id `log_…`; undefined: all */
  delete(accountId: string, id: string | undefined): Promise<number>;
  settings(accountId: string): Promise<RequestLogSettings>;
  /** Requests that are stored already expire no later than the settings say. */
  setSettings(accountId: string, settings: RequestLogSettings): Promise<void>;
}
