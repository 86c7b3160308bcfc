import type { IncomingMessage, ServerResponse } from "node:http";
import { ToolgateError } from "../../domain/core/errors.ts";
import { HttpCredentials } from "../http/request-head.ts";
import type { ConsoleOrigin } from "./console-origin.ts";

/** Serves the key of the development wallet (test money) at `/console/dev-wallet.json`, same origin only. */
export class DevWallet {
  readonly #origin: Pick<ConsoleOrigin, "requireOwnPage">;
  readonly #body: string;

  /** @param secretKey 64 bytes, seed and public key, as `solana-keygen` writes them */
  constructor(secretKey: Uint8Array, origin: Pick<ConsoleOrigin, "requireOwnPage">) {
    this.#origin = origin;
    this.#body = JSON.stringify({ secret_key: [...secretKey] });
  }

  handle(request: IncomingMessage, response: ServerResponse): void {
    response.setHeader("Cache-Control", "no-store");
    try {
      this.#origin.requireOwnPage(new HttpCredentials(request).page);
    } catch (error) {
      if (!(error instanceof ToolgateError)) throw error;
      response
        .writeHead(error.status, { "Content-Type": "text/plain; charset=utf-8" })
        .end(`${error.message}\n`);
      return;
    }
    response.writeHead(200, { "Content-Type": "application/json" }).end(this.#body);
  }
}
