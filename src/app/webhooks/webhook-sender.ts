/** A signed request to an endpoint. */
export interface WebhookRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** What a receiver answered. Its body is never read. */
export interface WebhookResponse {
  readonly status: number;
  /** The Retry-After header. */
  readonly retryAfter: string | null;
}

/** Sends to addresses that the network setting allows, and follows no redirect. */
export interface WebhookSender {
  /** @throws WebhookUnsentError when no response came */
  send(request: WebhookRequest, signal: AbortSignal): Promise<WebhookResponse>;
}

/** No response came. The message is for the owner of the endpoint. */
export class WebhookUnsentError extends Error {
  override name = "WebhookUnsentError";
}
