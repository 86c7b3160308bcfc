import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Webhook } from "standardwebhooks";
import { z } from "zod";
import { listen } from "./servers.ts";

/** A webhook as it arrived. */
export interface ReceivedWebhook {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

const message = z.object({
  type: z.string(),
  timestamp: z.iso.datetime(),
  data: z.record(z.string(), z.unknown()),
});

/** An HTTP server that keeps what it receives and answers as `answer` says; 204 by default. */
export class WebhookReceiver {
  readonly received: ReceivedWebhook[] = [];
  answer: (response: ServerResponse, webhook: ReceivedWebhook) => void = (response) =>
    void response.writeHead(204).end();
  readonly #server: Server;
  readonly #waiting: (() => void)[] = [];

  private constructor() {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("error", () => {});
      request.on("end", () => {
        const webhook = {
          path: request.url ?? "",
          headers: request.headers,
          body: Buffer.concat(chunks).toString(),
        };
        this.received.push(webhook);
        this.answer(response, webhook);
        for (const wake of this.#waiting.splice(0)) wake();
      });
    });
  }

  static async open(): Promise<WebhookReceiver> {
    const receiver = new WebhookReceiver();
    await listen(receiver.#server);
    return receiver;
  }

  get url(): string {
    const { port } = this.#server.address() as AddressInfo;
    return `http://127.0.0.1:${port}/hook`;
  }

  /** Resolves when that many arrived. */
  async atLeast(count: number): Promise<void> {
    while (this.received.length < count) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** Types of the received events. */
  types(): string[] {
    return this.received.map(({ body }) => message.parse(JSON.parse(body)).type);
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

/** Verifies with the library of Standard Webhooks. @throws WebhookVerificationError */
export function verified(secret: string, { headers, body }: ReceivedWebhook): z.infer<typeof message> {
  const { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signature } = headers;
  return message.parse(
    new Webhook(secret).verify(body, {
      "webhook-id": String(id),
      "webhook-timestamp": String(timestamp),
      "webhook-signature": String(signature),
    }),
  );
}
